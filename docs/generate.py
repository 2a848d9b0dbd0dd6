"""Writes the reference pages from what the engine itself says: nothing in them is kept by hand.

python docs/generate.py            write the pages anew
python docs/generate.py --check    exit 1 if a page differs
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path[:0] = [str(ROOT / "engine"), str(FOLDER)]

import click  # noqa: E402  # the checkout's engine comes first on the path
from proofs import FAULTS, NOT_YET, ROWS, fault_tests, row_tests  # noqa: E402

from trimtab.commands.group import COMMANDS, trimtab  # noqa: E402
from trimtab.commands.kinds import common_keys, default, describe, meaning, own_keys, required  # noqa: E402
from trimtab.facts.host import MAIN_FIELDS  # noqa: E402
from trimtab.packs.catalogue import CATALOGUE  # noqa: E402
from trimtab.packs.load import check, known_kinds  # noqa: E402
from trimtab.packs.names import BUILT_IN_FACTS, HOST_FACTS  # noqa: E402
from trimtab.packs.schema import KINDS, pack_schema  # noqa: E402
from trimtab.packs.show import flow  # noqa: E402
from trimtab.policy.expressions import FUNCTIONS, RESERVED  # noqa: E402
from trimtab.policy.metrics import METRICS  # noqa: E402
from trimtab.policy.values import COMPARISONS  # noqa: E402
from trimtab.rehearsal import rehearsed  # noqa: E402
from trimtab.stages._expects import MOST_TOKENS, SCRATCH_CHARS, TOKEN_CHARS  # noqa: E402
from trimtab.stages._source import LOOKED_UP  # noqa: E402
from trimtab.testing.reading import cases_schema  # noqa: E402

FORMS = {"number": "comparisons", "text": "a list of globs", "boolean": "`true` or `false`"}
RAISED = "`on_failure: raise`, a request left invalid"
NOTE = "<!-- Written by docs/generate.py from the engine; changes by hand are lost. -->\n"


def cell(text: object) -> str:
    """A text as a cell of a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def code(names: Iterable[str]) -> str:
    """Names as code, sorted."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return "\n".join([f"# {title}\n", NOTE, *parts]).rstrip() + "\n"


def kinds() -> str:
    """Every kind with its keys."""
    known = known_kinds()
    overview = [
        (f"[{kind}](#{kind})", "yes" if kind in known else "checked, not run yet", describe(kind))
        for kind in KINDS
    ]
    common = [
        (f"`{key}`", "one of those above" if key == "kind" else meaning(spec), shown(spec))
        for key, spec in common_keys("replace")
    ]
    parts = [
        table(("kind", "runs in this version", "what it does"), overview),
        "## Keys of every stage\n",
        table(("key", "meaning", "default"), common),
    ]
    for kind in KINDS:
        need = required(kind)
        rows = [
            (f"`{key}`", "yes" if key in need else "", meaning(spec), shown(spec))
            for key, spec in own_keys(kind)
        ]
        example = pack_schema()["definitions"][f"stage-{kind}"].get("examples", [])
        parts += [f"## {kind}\n", describe(kind) + "\n"]
        parts.append(table(("key", "required", "meaning", "default"), rows))
        parts += [f"```yaml\n{flow(one)}\n```\n" for one in example[:1]]
    return page("Kinds of stages", *parts)


def shown(spec: Mapping[str, Any]) -> str:
    """The default as code."""
    text = default(spec)
    return f"`{text}`" if text else ""


def metrics() -> str:
    """Every metric."""

    def row(name: str) -> tuple[str, ...]:
        metric = METRICS[name]
        values = ": " + " ".join(f"`{value}`" for value in metric.values) if metric.values else ""
        return f"`{name}`", metric.type, metric.unit, metric.meaning + values

    everywhere = [row(name) for name, metric in METRICS.items() if not metric.accept_only]
    accept = [row(name) for name, metric in METRICS.items() if metric.accept_only]
    return page(
        "Metrics",
        "What conditions may compare. Number metrics may also stand in expressions. A metric that is\n"
        "unknown (no time, no usage yet) makes its entry false.\n",
        table(("metric", "type", "unit", "meaning"), everywhere),
        "## Only in `accept`\n",
        table(("metric", "type", "unit", "meaning"), accept),
        "## Names in expressions\n",
        f"Besides settings, limits and number metrics: {code(RESERVED)}.\n\nFunctions: {code(FUNCTIONS)}.\n",
    )


def conditions() -> str:
    """What a condition may hold."""
    condition = pack_schema()["definitions"]["condition"]
    rows = []
    for name, spec in condition["properties"].items():
        metric = METRICS.get(name)
        if metric is None:
            conditions_in_it = name in ("any", "none")
            listed = "a list of conditions" if conditions_in_it else "a list"
            form = listed if spec.get("type") == "array" else "a mapping"
        else:
            form = FORMS[metric.type]
        rows.append((f"`{name}`", form, meaning(spec)))
    since = pack_schema()["definitions"]["since"]
    words = ", ".join(f"`{word}` ({sign})" for word, sign in COMPARISONS.items())
    return page(
        "Conditions",
        f"{condition['description']}\n",
        f"Comparisons: {words}. Each limit is a number or an expression.\n",
        table(("entry", "value", "meaning"), rows),
        "## since\n",
        f"{since.get('description', '')}\n",
        table(("key", "meaning"), [(f"`{key}`", meaning(spec)) for key, spec in since["properties"].items()]),
    )


def keys_with_examples(spec: Mapping[str, Any]) -> str:
    """The keys of a mapping: meaning, default, and an example of each that has one."""
    rows = []
    for key, inner in spec["properties"].items():
        example = next(iter(inner.get("examples", ())), None)
        rows.append(
            (f"`{key}`", meaning(inner), shown(inner), "" if example is None else f"`{flow(example)}`")
        )
    return table(("key", "meaning", "default", "example"), rows)


def gates() -> str:
    """What a proposal and a text must pass before they count."""
    definitions = pack_schema()["definitions"]
    accept = [(f"`{name}`", each.unit, each.meaning) for name, each in METRICS.items() if each.accept_only]
    return page(
        "Gates",
        "What is proposed is committed only if it passes. Whatever fails a gate leaves the view as it is, with the\n"
        "reason in the receipt.\n",
        "## accept: the proposal\n",
        "A condition like any other, after the edit; besides all metrics it has these. It is also checked before a\n"
        "model is called, if even the best case fails it.\n",
        table(("metric", "unit", "meaning"), accept),
        "## expects: the text\n",
        f"{definitions['expects']['description']}\n\nNever taken, whatever the pack says: a text that is blank, cut\n"
        "off, a tool call, a refusal, or not smaller than what it replaces.\n",
        f"An answer of more than {TOKEN_CHARS} characters for each token it may have, of which {MOST_TOKENS:,} count\n"
        f"at most, and {SCRATCH_CHARS:,} more for its scratch parts is `larger` before it is read. Of the paths,\n"
        f"quotes and exact values of a text the first {LOOKED_UP:,} of each are held against the source.\n",
        keys_with_examples(definitions["expects"]),
        "## review and ground: before it is taken\n",
        f"`review`: {definitions['review']['description']}\n",
        keys_with_examples(definitions["review"]),
        f"`ground`: {definitions['ground']['description']}\n",
        keys_with_examples(definitions["ground"]),
        "## breaker: after failures\n",
        f"{definitions['breaker']['description']} `manual` and `overflow` runs ignore it.\n",
        keys_with_examples(definitions["breaker"]),
        "## Reasons of a failure\n",
        "What a `ladder`'s `for` and the metric `failure` name: "
        + ", ".join(f"`{word}`" for word in pack_schema()["x-vocabulary"]["failure"])
        + ".\n",
    )


def facts() -> str:
    """Facts there always are, facts of a host, and how a pack declares its own."""
    fact = pack_schema()["definitions"]["fact"]

    def rows(names: Iterable[str]) -> list[tuple[str, str]]:
        return [(f"`{name}`", f"`{MAIN_FIELDS.get(name, 'text')}`") for name in sorted(names)]

    return page(
        "Facts",
        "A fact is a list of records, read over the whole session. Its main field is what is compared, told once and\n"
        "named where a text left it out.\n",
        "## Always there\n",
        table(("fact", "main field"), rows(BUILT_IN_FACTS)),
        "## From the host\n",
        "If it has them; what it gives replaces what a pack reads from the tool traffic. All fields are in\n"
        "[what the host tells](host-facts.md).\n",
        table(("fact", "main field"), rows(HOST_FACTS)),
        "## Declared by a pack\n",
        "Under `facts`, by name:\n",
        keys_with_examples(fact),
        "Each rule of `from`:\n",
        keys_with_examples(fact["properties"]["from"]["items"]),
    )


def findings() -> str:
    """Every code `check` may report, why, what to do, and a broken pack that shows it."""
    rows = [
        (f"[`{name}`](#{name})", code.meaning, code.severity, "yes" if code.silenceable else "")
        for name, code in CATALOGUE.items()
    ]
    shown = _examples()
    parts = []
    for name, code in CATALOGUE.items():
        parts.append(f"## {name}\n")
        parts.append(f"{code.meaning[0].upper()}{code.meaning[1:]}.\n")
        parts.append(f"**Why**: {code.why}\n\n**Mend**: {code.mend}\n")
        if name in shown:
            parts.append(f"```text\n{shown[name]}\n```\n")
    return page(
        "Findings of `trimtab check`",
        "Codes are stable. A comment `# trimtab: allow CODE, reason` on the line of a finding silences it where the\n"
        "last column says so; in a template it is `{# trimtab: allow CODE, reason #}`. A comment that gives no\n"
        "reason, or that silences nothing, is a finding itself.\n\n"
        "`--fix` mends in the file a misspelt key with exactly one that is near, an expression that flow style\n"
        "splits at a comma, tabs in the indentation, and a missing `stages: []`; comments and layout stay. With\n"
        "`--diff` it only shows what would change.\n\n"
        "`--format` is `text`, `json` ([schema](../schemas/check.schema.json)), `github` (annotations in a workflow)\n"
        "or `sarif` (2.1.0, with the help of each code, fixes, and what comments silence as suppressed).\n\n"
        "A misspelt key counts as the one that is near, and a stage with another mistake is set aside, so that the\n"
        "rest is judged all the same. `thrash` and `cache-hostile` come from playing the pack on two made-up\n"
        "sessions, which takes some tenths of a second: packs that ship are played only with `--rehearse`,\n"
        "others unless `--no-rehearse`,\n"
        "and only if nothing had to be set aside. `unknown-tool` and `unmatched-category` need\n"
        "`--against SESSION`, `model-cannot` needs `--model MODEL`.\n",
        table(("code", "meaning", "usually", "can be silenced"), rows),
        *parts,
    )


def _examples() -> dict[str, str]:
    """For each code the first broken pack of the tests that shows it, as `check` tells of it."""
    found: dict[str, str] = {}
    here = Path.cwd()
    for path in sorted((ROOT / "tests" / "cases").glob("*/*.yaml")):
        if path.parent.name == "good":
            continue
        os.chdir(path.parent)  # so that the names of files are short, and the same on every machine
        try:
            report = check(path.name)
            report = rehearsed(report) if path.parent.name == "must_show" else report
        finally:
            os.chdir(here)
        for problem in report.problems:
            shown = f"{problem.severity}: {problem.render()}"
            if len(shown) < 1000 and shown.isascii() and problem.code not in found:
                found[problem.code] = shown
    return found


def schema() -> str:
    """The shapes of a pack's values."""
    whole = pack_schema()
    parts = [
        "The machine-readable form is `trimtab schema pack` (JSON Schema, draft-07); stages are in\n"
        "[kinds](kinds.md).\n",
        "## The top level\n",
        table(
            ("key", "required", "meaning"),
            [
                (f"`{key}`", "yes" if key in whole["required"] else "", meaning(spec))
                for key, spec in whole["properties"].items()
            ],
        ),
    ]
    for name, spec in whole["definitions"].items():
        if name.startswith(("stage", "child", "defaults")) or not isinstance(spec, Mapping):
            continue
        parts.append(f"## {name}\n")
        said = [str(spec[key]) for key in ("title", "description") if key in spec]
        if "enum" in spec:
            said.append("one of " + " ".join(f"`{one}`" for one in spec["enum"]))
        parts.append((": ".join(said) or "see the schema") + "\n")
        keys = spec.get("properties", {})
        if keys:
            rows = [
                (f"`{key}`", meaning(inner) if isinstance(inner, Mapping) else "")
                for key, inner in keys.items()
            ]
            parts.append(table(("key", "meaning"), rows))
    return page("Values of a pack", *parts)


def commands() -> str:
    """The help of every command."""
    parts = []
    names: Any = trimtab.context_settings
    group = click.Context(trimtab, info_name="trimtab", terminal_width=96, **names)
    for name in COMMANDS:
        command = trimtab.get_command(group, name)
        assert command is not None
        context = click.Context(command, parent=group, info_name=name, terminal_width=96)
        parts += [f"## {name}\n", f"```text\n{command.get_help(context)}\n```\n"]
    codes = table(
        ("exit code", "means"),
        [
            (0, "fine"),
            (
                1,
                "problems found: errors (with `--strict` warnings too), an unreadable session, "
                + RAISED
                + ", failed tests",
            ),
            ("", "`diff`: the packs differ; `fmt` and `migrate` with `--check`: a file would change"),
            (2, "wrong usage"),
            (5, "nothing ran: no stage lists the event, no pack to check, no test"),
        ],
    )
    return page("Commands", codes, *parts)


def proved(tests: Mapping[str, Path]) -> str:
    """Names of tests, each a link to its file."""
    return "<br>".join(f"[`{name}`](../{path.relative_to(ROOT)})" for name, path in tests.items())


def reference() -> str:
    """Every row of the reference behaviour: where it lives, and the tests that bear its number."""
    tests = row_tests()
    rows = []
    for number, row in ROWS.items():
        places = [f"stage `{stage}`" for stage in row.stages]
        places += [f"`{value}`" for value in row.values]
        places += [f"[{Path(file).name}](../{file})" for file in row.files]
        rows.append((number, row.what, ", ".join(places), proved(tests[number])))
    return page(
        "The reference behaviour, row by row",
        "What the pack `claude-code` does, and what the engine does for it. Stages, settings and limits stand in\n"
        "[its pack](../rules/claude-code/pack.yaml), with all constants. A test of row 7 begins with `test_r07_`:\n"
        "`pytest -k r07` runs them.\n",
        table(("row", "what it is", "where it lives", "tests"), rows),
    )


def faults() -> str:
    """Every kind of fault reported of other engines, and the tests that it does not happen here."""
    tests = fault_tests()
    rows = [(fault, what, proved(tests[fault]) or NOT_YET.get(fault, "")) for fault, what in FAULTS.items()]
    return page(
        "Faults of context compaction, and their tests",
        "Kinds of faults that people have reported of agents and libraries. A test of kind B6 begins with\n"
        "`test_b6_`.\n",
        table(("kind", "what goes wrong", "tests"), rows),
    )


KEYS = re.compile(r"(<!-- keys: begin -->\n).*?(<!-- keys: end -->)", re.DOTALL)
PARTS = (
    "case",
    "step",
    "given",
    "expect",
    "look",
    "verdict",
    "rounds",
    "result",
    "message",
    "request",
    "error",
)
"""Definitions of the schema of tests that have a table each, in the order of the page."""


def test_keys() -> str:
    """The keys of test files, from their schema."""
    schema = cases_schema()
    parts = ["### The file\n", keys_of(schema)]
    for name in PARTS:
        spec = schema["definitions"][name]
        own = next((one for one in spec.get("anyOf", ()) if "properties" in one), spec)
        parts += [f"### {spec.get('title', name)}\n", keys_of(own)]
        if name == "message":
            parts.insert(-1, spec["description"] + "\n")
    return "\n".join(parts)


def keys_of(spec: Mapping[str, Any]) -> str:
    """A table of a mapping's keys."""
    rows = []
    for key, inner in spec["properties"].items():
        rows.append((f"`{key}`", "yes" if key in spec.get("required", ()) else "", keyed(inner)))
    return table(("key", "required", "meaning"), rows)


def keyed(spec: Mapping[str, Any]) -> str:
    """What a key of a test file means, its default behind it."""
    target = cases_schema()["definitions"][spec["$ref"].rsplit("/", 1)[1]] if "$ref" in spec else spec
    said = spec.get("description") or target.get("description") or target.get("title", "")
    return f"{said}; default `{flow(spec['default'])}`" if "default" in spec else str(said)


def testing() -> str:
    """The page on tests of packs: written by hand, but for the tables of keys."""
    text = (FOLDER / "testing.md").read_text(encoding="utf-8")
    return KEYS.sub(lambda found: f"{found[1]}{test_keys()}{found[2]}", text)


PAGES: Mapping[str, Callable[[], str]] = {
    "kinds.md": kinds,
    "metrics.md": metrics,
    "conditions.md": conditions,
    "gates.md": gates,
    "facts.md": facts,
    "findings.md": findings,
    "schema.md": schema,
    "commands.md": commands,
    "reference.md": reference,
    "faults.md": faults,
    "testing.md": testing,
}


OUTPUT = re.compile(r"(<!-- output: (.+?) -->\n```text\n).*?(^```$)", re.MULTILINE | re.DOTALL)


def printed(command: str) -> str:
    """What ``trimtab COMMAND`` prints in the project's folder, where no terminal is."""
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    environment |= {"PYTHONPATH": str(ROOT / "engine"), "PYTHONIOENCODING": "utf-8"}
    found = subprocess.run(
        [sys.executable, "-m", "trimtab", *command.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=True,
    )
    return found.stdout.decode("utf-8").replace(os.linesep, "\n")


def with_outputs(text: str) -> str:
    """The README with the real output under each of its commands."""
    return OUTPUT.sub(lambda found: f"{found[1]}$ trimtab {found[2]}\n{printed(found[2])}{found[3]}", text)


def readme() -> str:
    """The README, its outputs made anew."""
    return with_outputs((ROOT / "README.md").read_text(encoding="utf-8"))


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or say which differ."""
    stale = []
    for name, make in {**PAGES, "../README.md": readme}.items():
        path, text = FOLDER / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    print(f"{'differ' if '--check' in arguments else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
