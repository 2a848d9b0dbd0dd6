"""The redactor port: secrets are taken out of what a summarizer gets and gives, and the run goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

REPLACEMENT = "[redacted: {kind}]"
PIECE_CHARS, OVERLAP = 2000, 400
LEAST_CHARS = 6
"""Nothing shorter is taken for a secret."""

_PATTERNS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "private key": (
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]{0,20000}"
        r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    "anthropic key": (("sk-ant-",), r"\bsk-ant-[\w-]{20,200}"),
    "openai key": (("sk-",), r"(?<![\w-])sk-(?:proj-|svcacct-|admin-)?[\w-]{20,200}"),
    "github token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255})",
    ),
    "gitlab token": (("gl",), r"\bgl(?:pat|dt|rt|ptt|agent|soat)-[\w-]{20,64}"),
    "aws key": (("AKIA", "ASIA", "ABIA", "ACCA"), r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    "google key": (
        ("AIza", "ya29.", "GOCSPX-"),
        r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,500}|GOCSPX-[\w-]{20,64})",
    ),
    "slack token": (
        ("xox", "hooks.slack"),
        r"\bxox[abeoprs]-[\w-]{10,250}|\bhooks\.slack\.com/services/[\w/-]{20,100}",
    ),
    "stripe key": (("_live_", "_test_", "whsec_"), r"\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,250}"),
    "npm token": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    "pypi token": (("pypi-AgEI",), r"\bpypi-AgEI[\w-]{50,500}"),
    "hugging face token": (("hf_",), r"\bhf_[A-Za-z0-9]{30,60}\b"),
    "sendgrid key": (("SG.",), r"\bSG\.[\w-]{16,64}\.[\w-]{16,128}"),
    "json web token": (("eyJ",), r"\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,2000}"),
    "authorization": (
        ("uthorization: ",),
        r"(?<=[Aa]uthorization: )(?:[Bb]earer|[Bb]asic|token) [\w.~+/=-]{16,4000}",
    ),
    "password in an address": (("://",), r"(?<=://)[\w.%+-]{1,100}:[^\s:/@\"'<>]{3,200}(?=@)"),
}
"""By kind: what every such secret holds, so that most texts need no look at the pattern; and the pattern."""
_ASSIGNED = re.compile(
    r"(?P<name>(?:pass(?:word|wd|phrase)|secret|api_?-?key|access_?-?key|auth_?-?token|access_?-?token|_token"
    r"|private_?-?key|credential)[\w-]{0,30}[\"']?\s{0,4}(?::|=|:=|=>)\s{0,4})"
    r"(?P<value>\"[^\"\s]{8,300}\"|'[^'\s]{8,300}'|[^\s\"'`,;(){}\[\]<>$]{8,300}+(?!\())",
    re.IGNORECASE,
)
"""A value given to something whose name says that it is secret."""
_ASSIGNED_HINTS = ("pass", "secret", "key", "token", "credential")


_REFERENCE = re.compile(r"\$\{|\{\{|%\(|\benv\b|\.env|redacted|^[.~]{0,2}/|/\S*\.|::|\w\.\w+\.\w")
"""A value that says where a secret is kept, not what it is."""


class Redactor(Protocol):
    """Takes secrets out of a text. Must be a function of the text alone: the same text, the same outcome."""

    def redact(self, text: str) -> tuple[str, int]:
        """The text with every secret replaced, and how many places that were."""


class PatternRedactor:
    """Secrets that can be told by their form, without any library.

    It covers keys and tokens with a prefix of their own (``_PATTERNS``), private keys as a whole, JSON web tokens,
    passwords in addresses and authorization headers, and values of eight characters and more that have a letter and
    a digit and are given to a name with *password*, *secret*, *api key*, *token* or the like in it. It does not find
    secrets that look like any other word.
    """

    def __init__(self) -> None:
        self._known = [
            (hints, re.compile(pattern), _replacement(kind)) for kind, (hints, pattern) in _PATTERNS.items()
        ]

    def redact(self, text: str) -> tuple[str, int]:
        known = 0
        for hints, pattern, replacement in self._known:
            if any(hint in text for hint in hints):
                text, count = pattern.subn(replacement, text)
                known += count
        low = text.lower()
        if not any(hint in low for hint in _ASSIGNED_HINTS):
            return text, known
        assigned = 0

        def one(found: re.Match[str]) -> str:
            nonlocal assigned
            value = found["value"].strip("\"'")
            if not _secret(value):
                return found[0]
            assigned += 1
            return found["name"] + found["value"].replace(value, _replacement("value"))

        return _ASSIGNED.sub(one, text), known + assigned


def _replacement(kind: str) -> str:
    return REPLACEMENT.format(kind=kind)


def _secret(value: str) -> bool:
    """Whether a value may be a secret: no word, no number, no reference to where it is kept."""
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    return letters and digits and _REFERENCE.search(value) is None


class LibraryRedactor:
    """The detectors of the library detect-secrets (extra ``secrets``), then the patterns of ``PatternRedactor``.

    Its detectors of entropy are left out (they take every hash and id for a secret), those of words, addresses and of
    IBM's IAM keys (any long word) too.
    Raises ValueError if the library is not installed.
    """

    _LEFT_OUT = frozenset(
        {
            "Base64HighEntropyString",
            "HexHighEntropyString",
            "IPPublicDetector",
            "IbmCloudIamDetector",
            "KeywordDetector",
        }
    )

    def __init__(self) -> None:
        try:
            util = import_module("detect_secrets.core.plugins.util")
        except ImportError:
            raise ValueError(
                "the redactor detect-secrets needs the library of that name; install trimtab[secrets]"
            ) from None
        classes: Mapping[str, Any] = util.get_mapping_from_secret_type_to_class()
        self._detectors = [
            (kind, plugin())
            for kind, plugin in sorted(classes.items())
            if plugin.__name__ not in self._LEFT_OUT and hasattr(plugin, "denylist")
        ]
        self._patterns = PatternRedactor()

    def redact(self, text: str) -> tuple[str, int]:
        text, count = self._patterns.redact(text)
        found: dict[str, str] = {}
        for piece in _pieces(text):
            for kind, detector in self._detectors:
                for secret in detector.analyze_string(piece):
                    if isinstance(secret, str) and len(secret) >= LEAST_CHARS:
                        found.setdefault(secret, kind.lower())
        # Longer ones first: one may be a part of another.
        for secret in sorted(found, key=lambda one: (-len(one), one)):
            count += text.count(secret)
            text = text.replace(secret, _replacement(found[secret]))
        return text, count


def _pieces(text: str) -> Iterator[str]:
    """The lines of a text, as the library expects them; long ones in pieces that overlap, because some of its
    patterns take quadratic time.
    """
    for line in text.splitlines():
        for start in range(0, max(1, len(line) - OVERLAP), PIECE_CHARS - OVERLAP):
            piece = line[start : start + PIECE_CHARS]
            if len(piece) >= LEAST_CHARS:
                yield piece


def redact_all(redactor: Redactor | None, texts: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Each text without its secrets, and how many places that were; without a redactor as they are."""
    if redactor is None:
        return tuple(texts), 0
    known: dict[str, tuple[str, int]] = {}
    for text in texts:
        if text not in known:
            known[text] = redactor.redact(text)
    return tuple(known[text][0] for text in texts), sum(known[text][1] for text in texts)


REDACTORS: Mapping[str, Callable[[], Redactor | None]] = {
    "patterns": PatternRedactor,
    "detect-secrets": LibraryRedactor,
    "none": lambda: None,
}


def make(name: str) -> Redactor | None:
    """A redactor by its name. Raises ValueError for an unknown one, or if its library is missing."""
    if name not in REDACTORS:
        raise ValueError(f"there is no redactor {name!r}; there are {', '.join(REDACTORS)}")
    return REDACTORS[name]()
