"""A summarizer that answers what it was given, in turn: for tests and for trying a pack out."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..effects import REASONS, AskFailed, Question, Reply
from .base import refuse_compaction

Answer: TypeAlias = str | Mapping[str, Any] | Reply
"""A text; a failure reason by itself (``unavailable``); ``{fail: too_long, excess: 1200, message: …}``; or
``{text: …, stop: max_tokens}``."""


class CannedSummarizer:
    """Answers in the order given; asked more often it has no model any more (``unavailable``).

    ``asked`` collects the questions.
    """

    def __init__(self, answers: Sequence[Answer], source: str | None = None) -> None:
        name = source or "answers"
        self._source = source
        self._answers = [_checked(answer, f"{name}: answer {n}") for n, answer in enumerate(answers, 1)]
        self.asked: list[Question] = []

    @classmethod
    def from_file(cls, path: str | Path) -> CannedSummarizer:
        """From a YAML or JSON file: a list, or a mapping with the list under ``answers``.

        Raises ValueError with the file's name, OSError.
        """
        raw = _load(Path(path))
        answers = raw.get("answers") if isinstance(raw, dict) else raw
        if not isinstance(answers, list):
            raise ValueError(f"{path}: a list of answers is expected, or a mapping with `answers`")
        return cls(answers, str(path))

    def answer(self, question: Question) -> Reply:
        refuse_compaction(question)
        self.asked.append(question)
        if len(self.asked) > len(self._answers):
            words = f"all {len(self._answers)} answers have been given"
            raise AskFailed("unavailable", words if self._source is None else f"{self._source}: {words}")
        found = self._answers[len(self.asked) - 1]
        if isinstance(found, Reply):
            return found
        reason = found["fail"]
        message = found.get("message")
        words = message if isinstance(message, str) and message else f"canned failure {reason}"
        raise AskFailed(reason, words, found.get("excess"))

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def _load(path: Path) -> Any:
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path}: no regular file; a file of answers is expected")
    import yaml

    try:
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply; a list of answers is expected") from None
    # ValueError: no UTF-8, no JSON, or a plain YAML scalar that looks like a date no calendar has.
    except (ValueError, yaml.YAMLError) as problem:
        raise ValueError(f"{path}: {problem}") from None


def _checked(answer: Any, where: str) -> Reply | Mapping[str, Any]:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return {"fail": answer} if answer in REASONS else Reply(answer)
    if not isinstance(answer, Mapping):
        raise ValueError(
            f"{where} is {repr(answer)[:80]}: a text or a mapping is expected (quote texts like `no`)"
        )
    known = {"fail", "excess", "message"} if "fail" in answer else {"text", "stop"}
    unknown = [str(key) for key in answer if key not in known]
    if unknown:
        raise ValueError(f"{where} has unknown keys {' '.join(unknown)}; known are {' '.join(sorted(known))}")
    if "fail" in answer:
        if not isinstance(answer["fail"], str) or answer["fail"] not in REASONS:
            raise ValueError(
                f"{where} fails with {repr(answer['fail'])[:80]}; the reasons are {' '.join(REASONS)}"
            )
        excess = answer.get("excess")
        if excess is not None and (isinstance(excess, bool) or not isinstance(excess, int)):
            raise ValueError(f"{where}: excess is {repr(excess)[:80]}; whole tokens are expected")
        return answer
    if not isinstance(answer.get("text"), str):
        raise ValueError(f"{where} has neither `text` nor `fail`")
    return Reply(answer["text"], str(answer.get("stop", "end_turn")))
