"""The redactor port: secrets are taken out of what a summarizer gets and gives, and the run goes on."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from .secrets import known, named, private_keys
from .secrets.spans import Found, Glued, merged
from .secrets.values import field, telling

REPLACEMENT = "[redacted: {kind}]"
PIECE_CHARS, OVERLAP = 2000, 400
LEAST_CHARS = 6
"""Nothing shorter is taken for a secret."""

UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
    r"|\\u(?:00ad|200[b-f]|202[a-e]|206[0-9a-f]|feff)"
)
"""Characters that show nothing and may stand inside a secret, also as they are written in JSON."""


class Redactor(Protocol):
    """Takes secrets out of a text. Must be a function of the text alone: the same text, the same outcome."""

    def redact(self, text: str) -> tuple[str, int]:
        """The text with every secret replaced, and how many places that were."""


class FindingRedactor(ABC):
    """A redactor that says where the secrets are, so that it can be shown texts with what stands around them."""

    @abstractmethod
    def find(self, text: str, seams: Sequence[int] = (0,)) -> list[Found]:
        """The secrets of a text in order, without overlaps.

        The text is made of texts that begin at ``seams``, with a line end between two of them.
        """

    def redact(self, text: str) -> tuple[str, int]:
        """The text with every secret replaced, and how many that were."""
        (clean,), places = self.redact_together([text], [None])
        return clean, places

    def redact_together(
        self, texts: Sequence[str], names: Sequence[str | None]
    ) -> tuple[tuple[str, ...], int]:
        """Texts that follow each other without their secrets, and how many that were.

        ``names`` are the keys they are the values of. What is spread over neighbouring texts is replaced in each of
        them and counted once.
        """
        shown = [Glued(text, UNSEEN) for text in texts]
        seams, at = [], 0
        for one in shown:
            seams.append(at)
            at += len(one.text) + 1
        found = self.find("\n".join([one.text for one in shown]), seams)
        for start, one, name in zip(seams, shown, names, strict=True):
            if name is not None and telling(name) and field(name, one.text):
                found.append(Found(start, start + len(one.text), named.VALUE))
        found = merged(found)
        parts: list[list[str]] = [[] for _ in texts]
        kept = [0] * len(texts)
        for secret in found:
            first, last = bisect_right(seams, secret.start) - 1, bisect_right(seams, secret.stop - 1) - 1
            for place in range(first, last + 1):
                one, seam = shown[place], seams[place]
                start, stop = max(0, secret.start - seam), min(len(one.text), secret.stop - seam)
                if start < stop:
                    start, stop = one.back(start, stop)
                    parts[place] += [texts[place][kept[place] : start], REPLACEMENT.format(kind=secret.kind)]
                    kept[place] = stop
        clean = ("".join([*new, text[at:]]) for new, text, at in zip(parts, texts, kept, strict=True))
        return tuple(clean), len(found)


class PatternRedactor(FindingRedactor):
    """Secrets that can be told by their form or by what stands in front of them, without any library.

    It covers keys and tokens with a prefix of their own, private keys, authorization headers, passwords in addresses,
    and values given to a name with *password*, *secret*, *api key*, *token* or the like in it: of eight characters
    and more, with a letter and a digit. What fills the field of a password alone may be shorter (six characters) and
    of words. It does not find secrets that look like any other word, and leaves references, paths and dates.
    """

    def find(self, text: str, seams: Sequence[int] = (0,)) -> list[Found]:
        glued = Glued(text, known.LINE_ENDS)
        return merged([*private_keys.find(glued, seams), *known.find(glued), *named.find(text, seams)])


class LibraryRedactor(FindingRedactor):
    """The detectors of the library detect-secrets (extra ``secrets``) behind the patterns of ``PatternRedactor``.

    Its detectors of entropy are left out (they take every hash and id for a secret), those of words, addresses and of
    IBM's IAM keys (any long word) too, and that of private keys, which sees their first line only.
    Raises ValueError if the library is not installed.
    """

    _LEFT_OUT = frozenset(
        {
            "Base64HighEntropyString",
            "HexHighEntropyString",
            "IPPublicDetector",
            "IbmCloudIamDetector",
            "KeywordDetector",
            "PrivateKeyDetector",
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

    def find(self, text: str, seams: Sequence[int] = (0,)) -> list[Found]:
        found = self._patterns.find(text, seams)
        rest = _without(text, found)
        kinds: dict[str, str] = {}
        for piece in _pieces(rest):
            for kind, detector in self._detectors:
                for secret in detector.analyze_string(piece):
                    if isinstance(secret, str) and len(secret) >= LEAST_CHARS and secret[0] not in "${<":
                        kinds.setdefault(secret, kind.lower())
        for secret, kind in kinds.items():
            found.extend(Found(one.start(), one.end(), kind) for one in re.finditer(re.escape(secret), rest))
        return merged(found)


def _without(text: str, found: Sequence[Found]) -> str:
    """The text with blanks for what was found, everything else at its place."""
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], " " * (one.stop - one.start)]
        at = one.stop
    return "".join([*parts, text[at:]])


def _pieces(text: str) -> Iterator[str]:
    """The lines of a text, as the library expects them; long ones in pieces that overlap, because some of its
    patterns take quadratic time.
    """
    for line in text.splitlines():
        for start in range(0, max(1, len(line) - OVERLAP), PIECE_CHARS - OVERLAP):
            piece = line[start : start + PIECE_CHARS]
            if len(piece) >= LEAST_CHARS:
                yield piece


def redact_all(
    redactor: Redactor | None, texts: Sequence[str], names: Sequence[str | None] = ()
) -> tuple[tuple[str, ...], int]:
    """Each text without its secrets, and how many places that were; without a redactor as they are.

    With ``names``, one for each, the texts follow each other and are values of these keys. A redactor of the host's
    own is given each text alone.
    """
    if redactor is None:
        return tuple(texts), 0
    if names and isinstance(redactor, FindingRedactor):
        return redactor.redact_together(texts, names)
    outcomes: dict[str, tuple[str, int]] = {}
    for text in texts:
        if text not in outcomes:
            outcomes[text] = redactor.redact(text)
    return tuple(outcomes[text][0] for text in texts), sum(outcomes[text][1] for text in texts)


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
