"""The APIs a pack can be written for: those this engine can speak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from ..data import data_root


@dataclass(frozen=True, slots=True)
class Target:
    """An API: the engine's module for its format, a model to begin with, stages only it makes sense of."""

    format: str
    meaning: str
    model: str
    stages: str = ""


_THINKING = """\

  # Thinking of finished turns is dropped; what is signed leaves whole.
  - id: drop-thinking
    kind: drop
    at: [before_request]
    select: {blocks: [thinking], age: {turns: {at_least: 1}}}

  # Where the API's prompt cache may stop and go on.
  - {id: cache, kind: cache_marks, marks: [{place: system}, {place: newest_user, count: 2}]}
"""

_KNOWN: Mapping[str, Target] = {
    "anthropic": Target("anthropic", "Anthropic's Messages API", "claude-sonnet-4-5", _THINKING),
    "openai-chat": Target("openai_chat", "OpenAI's Chat Completions API", "gpt-5"),
    "openai-responses": Target("openai_responses", "OpenAI's Responses API", "gpt-5"),
}

TARGETS: Mapping[str, Target] = {
    name: target for name, target in _KNOWN.items() if find_spec(f"trimtab.formats.{target.format}")
}
"""By name, those whose format this engine reads and writes."""


def schema_text(name: str) -> str:
    """A JSON Schema as it ships."""
    return (data_root() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
