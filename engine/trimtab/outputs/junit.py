"""Results of packs' tests as JUnit's XML, as CI servers read it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING
from xml.etree import ElementTree as xml

from .testing import failure_text

if TYPE_CHECKING:
    from ..testing.suite import Ran, Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: Result) -> str:
    """One suite a test file and pack; what is wrong with a test file is an error of a case named after it."""
    suites: dict[tuple[str, str], list[Ran]] = defaultdict(list)
    for ran in result.ran:
        suites[(ran.pack.name, ran.case.at.file)].append(ran)
    root = xml.Element("testsuites", name="trimtab")
    seconds = 0.0
    for (pack, file), cases in suites.items():
        took = sum(ran.seconds for ran in cases)
        seconds += took
        failed = sum(not ran.passed for ran in cases)
        suite = _suite(root, f"{pack}: {file}", len(cases), failed, 0, took)
        for ran in cases:
            _case(suite, ran, pack)
    if result.problems:
        suite = _suite(root, "test files", len(result.problems), 0, len(result.problems), 0.0)
        for problem in result.problems:
            case = xml.SubElement(suite, "testcase", name=_text(problem.file or "tests"), classname="trimtab")
            case.set("time", "0.000")
            error = xml.SubElement(case, "error", message=_text(problem.message), type=problem.code)
            error.text = _text(problem.render())
    root.set("tests", str(len(result.ran) + len(result.problems)))
    root.set("failures", str(len(result.failed)))
    root.set("errors", str(len(result.problems)))
    root.set("time", f"{seconds:.3f}")
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _suite(
    root: xml.Element, name: str, tests: int, failures: int, errors: int, seconds: float
) -> xml.Element:
    return xml.SubElement(
        root,
        "testsuite",
        name=_text(name),
        tests=str(tests),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time=f"{seconds:.3f}",
    )


def _case(suite: xml.Element, ran: Ran, pack: str) -> None:
    at = ran.case.at
    case = xml.SubElement(
        suite,
        "testcase",
        name=_text(ran.case.title),
        classname=_text(pack),
        file=_text(at.file),
        line=str(at.line),
        time=f"{ran.seconds:.3f}",
    )
    if not ran.passed:
        first = ran.failures[0]
        message = f"{first.what}: expected {first.expected}, found {first.found}"
        failure = xml.SubElement(case, "failure", message=_text(message), type=_text(first.what))
        failure.text = _text("\n\n".join(failure_text(each) for each in ran.failures))


def _text(text: str) -> str:
    """The text without characters that XML does not have."""
    return _NOT_XML.sub("\ufffd", text)
