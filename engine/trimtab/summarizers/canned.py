"""A summarizer that answers what it was given, in turn: for tests and for trying a pack out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..effects import REASONS, AskFailed, Question, Reply

Answer: TypeAlias = str | Mapping[str, Any] | Reply
"""A text; a failure reason by itself (``unavailable``); ``{fail: too_long, excess: 1200, message: …}``; or
``{text: …, stop: max_tokens}``."""


class CannedSummarizer:
    """Answers in the order given; asked more often it has no model any more (``unavailable``).

    ``asked`` collects the questions.
    """

    def __init__(self, answers: Sequence[Answer], source: str = "answers") -> None:
        self._answers = [_checked(answer, f"{source}: answer {n}") for n, answer in enumerate(answers, 1)]
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
        self.asked.append(question)
        if len(self.asked) > len(self._answers):
            raise AskFailed("unavailable", f"all {len(self._answers)} answers have been given")
        found = self._answers[len(self.asked) - 1]
        if isinstance(found, Reply):
            return found
        reason = found["fail"]
        raise AskFailed(reason, found.get("message") or f"canned failure {reason}", found.get("excess"))

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def _load(path: Path) -> Any:
    text = path.read_text("utf-8")
    if path.suffix.lower() == ".json":
        return json.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise ValueError(f"{path}: {problem}") from None


def _checked(answer: Any, where: str) -> Reply | Mapping[str, Any]:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return {"fail": answer} if answer in REASONS else Reply(answer)
    if not isinstance(answer, Mapping):
        raise ValueError(f"{where} is {answer!r}: a text or a mapping is expected (quote texts like `no`)")
    known = {"fail", "excess", "message"} if "fail" in answer else {"text", "stop"}
    unknown = [str(key) for key in answer if key not in known]
    if unknown:
        raise ValueError(f"{where} has unknown keys {' '.join(unknown)}; known are {' '.join(sorted(known))}")
    if "fail" in answer:
        if answer["fail"] not in REASONS:
            raise ValueError(f"{where} fails with {answer['fail']!r}; the reasons are {' '.join(REASONS)}")
        excess = answer.get("excess")
        if excess is not None and (isinstance(excess, bool) or not isinstance(excess, int)):
            raise ValueError(f"{where}: excess is {excess!r}; whole tokens are expected")
        return answer
    if not isinstance(answer.get("text"), str):
        raise ValueError(f"{where} has neither `text` nor `fail`")
    return Reply(answer["text"], str(answer.get("stop", "end_turn")))
