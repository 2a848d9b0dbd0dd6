"""A small pack, and tests of it written to a folder and run."""

from __future__ import annotations

from pathlib import Path

from trimtab.testing.model import Failure
from trimtab.testing.snapshots import Snapshots
from trimtab.testing.suite import Plan, Ran, Result, plan, run_plan

PACK = """\
format: 1
name: small
version: 1.0.0
settings: {clear: true, shown: 1, share: 0.5}
limits: {auto: share * window, half: auto / 2}
tools: {read: [Read], shell: [Bash]}
stages:
  - id: clear
    kind: replace
    at: {before_request: {settings: {clear: true}}, overflow: {}}
    select: {blocks: [tool_result]}
    keep: {newest: {items: shown}}
    text: "[cleared]"
  - id: sum-up
    kind: first_of
    at: {before_request: {tokens: {at_least: auto}}, manual: {}, overflow: {}}
    stages:
      - {id: by-model, kind: summarize, prompt: ask.md.j2}
      - {id: by-itself, kind: summarize, when: {failure: [unavailable]}, text: What was done a great deal.}
  - {id: hush, kind: guard, at: [idle], level: info, text: all is well}
  - {id: notes, kind: notes, at: [after_response], background: true, prompt: ask.md.j2}
  - {id: files, kind: attach, at: [session_start], place: system, from: [{text: Be brief.}]}
"""


def written(folder: Path, tests: str, pack: str = PACK, name: str = "cases") -> Path:
    """A pack with tests beside it; the test file."""
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "templates").mkdir(exist_ok=True)
    (folder / "templates" / "ask.md.j2").write_text("Sum it up.\n", encoding="utf-8")
    (folder / "pack.yaml").write_text(pack, encoding="utf-8")
    path = folder / "tests" / f"{name}.yaml"
    path.write_text(tests, encoding="utf-8")
    return path


def planned(folder: Path, tests: str) -> Plan:
    return plan([str(written(folder, tests))])


def run(folder: Path, tests: str, snapshots: Snapshots | None = None) -> Result:
    """The result of a test file; nothing may be wrong with the file itself."""
    result = run_plan(planned(folder, tests), snapshots=snapshots)
    assert not result.problems, "\n".join(problem.render() for problem in result.problems)
    return result


def case(folder: Path, body: str, given: str = "rounds: {count: 3}") -> Ran:
    """One case with these further keys, each on a line of its own."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    [ran] = run(folder, f"cases:\n  - name: it works\n    given: {{{given}}}\n{lines}").ran
    return ran


def failures(folder: Path, body: str, given: str = "rounds: {count: 3}") -> list[Failure]:
    return list(case(folder, body, given).failures)


def failure(folder: Path, body: str, given: str = "rounds: {count: 3}") -> Failure:
    """The only failure of the case."""
    [one] = failures(folder, body, given)
    return one
