"""Summarizers, and the text that names one on a command line."""

from __future__ import annotations

from .base import AskFailed, Question, Reply, Summarizer

__all__ = ["AskFailed", "Question", "Reply", "Summarizer", "doubtful", "parse", "unusable"]


def parse(spec: str) -> Summarizer | None:
    """``none``, ``anthropic``, ``openai:MODEL@URL``, ``command:PROGRAM ARGUMENT…`` or ``canned:FILE``; None for
    ``none``.

    ``anthropic`` and ``openai`` make a client of their own, with the key from where the SDK looks for it, when
    they are first asked; ``openai`` may go without the model or the URL. Raises ValueError for any other text,
    OSError if the file cannot be read. ``unusable`` and ``doubtful`` say whether it will be able to answer.
    """
    kind, _, rest = spec.partition(":")
    if spec == "none":
        return None
    if spec == "anthropic":
        from .anthropic import AnthropicSummarizer

        return AnthropicSummarizer()
    if kind == "openai":
        from .openai import OpenAISummarizer

        return OpenAISummarizer.named(rest) if rest else OpenAISummarizer()
    if kind == "command" and rest.strip():
        from .command import CommandSummarizer

        return CommandSummarizer(rest)
    if kind == "canned" and rest:
        from .canned import CannedSummarizer

        return CannedSummarizer.from_file(rest)
    raise ValueError(
        f"unknown summarizer {spec!r}; it is none, anthropic, openai:MODEL@URL, command:PROGRAM ARGUMENT… or "
        "canned:FILE"
    )


def unusable(summarizer: Summarizer | None) -> str | None:
    """Why a summarizer can never answer here (a program or a library that is not installed), before it is asked."""
    why: str | None = getattr(summarizer, "unusable", lambda: None)()
    return why


def doubtful(summarizer: Summarizer | None) -> str | None:
    """Why a summarizer will probably fail when it is asked (no key), as far as this can be told without asking."""
    why: str | None = getattr(summarizer, "doubtful", lambda: None)()
    return why
