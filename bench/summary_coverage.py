"""What summaries name of the files that are needed later: ``python bench/summary_coverage.py FOLDER``.

Takes every Claude Code session below FOLDER (else below TRIMTAB_DATA) apart at its compactions. Of the file names that
tool calls use after a compaction, until the next one or the end, those count that the model had seen before it: as
whole names, in the messages of the context that was compacted. The program counts how many of them are named by

- the recorded summary that client went on with,
- the ledger of the pack ``claude-code``, which no model writes, for the same context,
- the recorded summary, given by a canned summarizer and grounded by the same pack,

and the characters of each, and says where the gate of that pack would have refused the recorded summary. With
``--every N`` contexts are also cut behind every N-th call, as if the client had compacted there, and the ledger alone
is judged. Exit code 1: one of the bars is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.conversation.request import Message, Request
from trimtab.engine import Engine
from trimtab.facts import Facts, text_of
from trimtab.outcome import Outcome
from trimtab.packs.load import load
from trimtab.packs.pack import Pack
from trimtab.readers import READERS, Unreadable
from trimtab.readers.base import HEAD_BYTES
from trimtab.readers.contexts import Moment, moments
from trimtab.summarizers.canned import CannedSummarizer

PACK = Path(__file__).with_name("coverage.yaml")
LEDGER_SHARE, GROUNDED_SHARE, GROUNDED_SIZE = 0.95, 0.97, 1.25
"""Bars: names a ledger and a grounded summary must have, and how much larger grounding may make a summary."""
FIRST_CUT = 40
"""Calls before the first made-up cut of a context: less is no conversation anybody would compact."""

_FIELDS = ("file_path", "notebook_path", "path")
_NAME = re.compile(r"[\w@+-](?:\.?[\w@+-])*\.[a-z][a-z0-9]{0,7}")
_WORD = re.compile(r"[^\s\"'`;|&()<>=,{}\[\]$*?:]++(?!\()")
_BEHIND = "\nIf you need specific details from before compaction"
_THOUGHTS = re.compile(r"\A.*?^[ \t]*(?:Summary:|<summary>)[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a context was compacted (``summary``: the recorded one), or could have been (None); where a
    client went on with nothing, there is none either.
    """

    path: Path
    number: int
    before: Request
    after: Sequence[Message]
    summary: str | None

    @property
    def needed(self) -> frozenset[str]:
        """Names that calls behind the cut use and that stand in the messages before it."""
        seen = "\n".join(_strings([message.get("content") for message in self.before.messages]))
        return frozenset(name for name in used_names(self.after) if names(name, seen))


@dataclass(frozen=True, slots=True)
class Judged:
    """A text for a cut: how many of the needed names it has, out of how many, and its characters."""

    named: int
    needed: int
    chars: int
    missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """What was found at one cut; the recorded summary and the grounded one only at a real one. ``refused``: why
    the gate of the shipped pack would not have taken the recorded one.
    """

    cut: Cut
    ledger: Judged
    recorded: Judged | None = None
    grounded: Judged | None = None
    refused: str | None = None


def names(name: str, text: str) -> bool:
    """Whether the text has the name as a whole: not as a part of a longer one."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) is not None


def used_names(messages: Sequence[Message]) -> set[str]:
    """File names that calls use: of the paths in their inputs, and of the words of shell commands."""
    found: set[str] = set()
    for message in messages:
        content = message.get("content")
        for block in content if message.get("role") == "assistant" and isinstance(content, list) else ():
            given = block.get("input") if block.get("type") == "tool_use" else None
            if isinstance(given, Mapping):
                found.update(_of_input(given))
    return found


def _of_input(given: Mapping[str, Any]) -> Iterator[str]:
    for field in _FIELDS:
        path = given.get(field)
        if isinstance(path, str) and _NAME.fullmatch(name := path.rstrip("/").rsplit("/", 1)[-1]):
            yield name
    command = given.get("command")
    if isinstance(command, str):
        # What is written into a command (a message, a script) is no use of the files it speaks of.
        for word in _WORD.findall(command.partition("<<")[0]):
            if _NAME.fullmatch(name := word.rsplit("/", 1)[-1]) and not word.startswith("-"):
                yield name


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def cuts(path: Path, every: int = 0) -> Iterator[Cut]:
    """The compactions of a session file, and with ``every`` made-up ones behind so many calls of a context."""
    contexts: dict[int, list[Moment]] = {}
    for moment in moments(path):
        contexts.setdefault(moment.context, []).append(moment)
    for number, part in contexts.items():
        end = part[-1]
        following = contexts.get(number + 1)
        if end.boundary is not None and following and end.request.messages:
            after = following[-1].request
            first = after.info[0] if after.messages else None
            # A summary without a word is no message, and the first one then is what came next.
            summed = first is not None and first.origin == "summary"
            summary = text_of(after.messages[0].get("content")) if summed else None
            yield Cut(path, number, end.request, after.messages[1 if summed else 0 :], summary)
        for at in range(FIRST_CUT, len(part) - 1, every) if every else ():
            before = part[at].request
            yield Cut(path, number, before, part[-1].request.messages[len(before.messages) :], None)


def judge(cut: Cut, text: str) -> Judged:
    """How much of what the cut needs a text names."""
    missed = tuple(sorted(name for name in cut.needed if not names(name, text)))
    return Judged(len(cut.needed) - len(missed), len(cut.needed), len(text), missed)


def compacted(pack: Pack, request: Request, answer: str | None = None) -> tuple[str, Outcome]:
    """The text that stands for the request's messages after a manual compaction, and the outcome.

    With an ``answer`` a model gives that as its summary; without one there is no model. No text: the receipt says why.
    """
    summarizer = None if answer is None else CannedSummarizer([f"<summary>\n{answer}\n</summary>"])
    session = Engine(pack, summarizer=summarizer).session()
    outcome = session.run(request, "manual", Facts.of({"request": "compact"}))
    texts = [text_of(message.get("content")) for message in outcome.request.messages]
    found = [text for text in texts if "<summary>\n" in text]
    if len(found) != 1:
        return "", outcome
    return found[0].partition("<summary>\n")[2].rpartition("\n</summary>")[0], outcome


def without_thoughts(summary: str) -> str:
    """A recorded summary without what the client put around it and the scratch part older clients left in it."""
    return _THOUGHTS.sub("", summary, count=1).partition(_BEHIND)[0].strip()


def refusal(pack: Pack, request: Request, answer: str) -> str | None:
    """Why the gate of a pack refuses an answer; None: it does not."""
    _, outcome = compacted(pack, request, answer)
    report = outcome.receipt.stage("full-summary")
    return report.reason if report is not None and report.verdict == "failed" else None


def rows(path: Path, pack: Pack, every: int = 0) -> Iterator[Row]:
    """The cuts of a session file, judged."""
    shipped = load("claude-code")
    for cut in cuts(path, every):
        if not cut.needed:
            continue
        ledger = judge(cut, compacted(pack, cut.before)[0])
        recorded = without_thoughts(cut.summary or "")
        if not recorded:
            yield Row(cut, ledger)
            continue
        grounded = judge(cut, compacted(pack, cut.before, recorded)[0])
        refused = refusal(shipped, cut.before, recorded)
        yield Row(cut, ledger, judge(cut, recorded), grounded, refused)


def share(judged: Sequence[Judged]) -> float:
    """Needed names that are named, of all; 1 where none is needed."""
    needed = sum(one.needed for one in judged)
    return sum(one.named for one in judged) / needed if needed else 1.0


def sessions(folder: Path) -> Iterator[Path]:
    """Claude Code session files below a folder, or the file itself."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.jsonl")):
        with path.open("rb") as opened:
            if READERS["claude-code"].detects(opened.read(HEAD_BYTES)):
                yield path


def _cell(judged: Judged | None) -> str:
    return f"{judged.named:>4}/{judged.needed:<4}{judged.chars:>7,}" if judged else f"{'-':>9}{'':7}"


def report(found: Sequence[Row]) -> bool:
    """Print the table and the sums; whether every bar is met."""
    print(
        f"{'session':41}{'#':>3}{'recorded':>9}{'chars':>7}{'ledger':>11}{'chars':>5}{'grounded':>11}{'chars':>5}"
    )
    for row in found:
        line = f"{row.cut.path.stem[:40]:41}{row.cut.number:>3}"
        print(f"{line}{_cell(row.recorded)}{_cell(row.ledger)}{_cell(row.grounded)}".rstrip())
        for name, judged in (("ledger", row.ledger), ("grounded", row.grounded)):
            if judged is not None and judged.missed:
                print(f"{'':6}the {name} has not: {', '.join(judged.missed)}")
        if row.refused:
            print(f"{'':6}the gate refuses it: {row.refused}")
    real = [row for row in found if row.recorded is not None]
    made_up = [row.ledger for row in found if row.recorded is None]
    if made_up:
        print(f"\nmade-up cuts: {len(made_up)}, ledger {share(made_up):.1%}")
    if not real:
        return True
    recorded = [row.recorded for row in real if row.recorded]
    grounded = [row.grounded for row in real if row.grounded]
    ledgers = [row.ledger for row in real]
    larger = [row for row in real if row.recorded and row.ledger.chars > row.recorded.chars]
    size = max(one.chars / other.chars for one, other in zip(grounded, recorded, strict=True))
    print(f"\nboundaries: {len(real)}, needed names: {sum(one.needed for one in ledgers)}")
    print(f"recorded summaries  {share(recorded):.1%}")
    print(f"refused by the gate {sum(row.refused is not None for row in real)}")
    print(
        f"ledger              {share(ledgers):.1%} (bar {LEDGER_SHARE:.0%}), larger than the recorded: {len(larger)}"
    )
    print(
        f"grounded            {share(grounded):.1%} (bar {GROUNDED_SHARE:.0%}), at most {size:.2f} of its size"
    )
    return (
        share(ledgers) >= LEDGER_SHARE
        and not larger
        and share(grounded) >= GROUNDED_SHARE
        and size <= GROUNDED_SIZE
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a bar is missed, 2 without a folder, 5 without a cut to judge."""
    parser = argparse.ArgumentParser(prog="python bench/summary_coverage.py")
    parser.add_argument("folder", nargs="?", default=os.environ.get("TRIMTAB_DATA"))
    parser.add_argument("--every", type=int, default=0, metavar="N", help="also cut behind every N-th call")
    given = parser.parse_args(arguments)
    if not given.folder or not Path(given.folder).exists():
        print("name a folder of sessions, or set TRIMTAB_DATA", file=sys.stderr)
        return 2
    pack = load(PACK)
    found: list[Row] = []
    for path in sessions(Path(given.folder)):
        try:
            found += rows(path, pack, given.every)
        except Unreadable as problem:
            print(f"left out: {problem}", file=sys.stderr)
    if not found:
        print(f"no compaction of Claude Code below {given.folder}", file=sys.stderr)
        return 5
    return 0 if report(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
