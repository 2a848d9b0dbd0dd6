"""Whether a value may be a secret: no plain word, no number, no sentence, no reference to where it is kept."""

from __future__ import annotations

import re

LEAST_CHARS = 8
"""Nothing shorter is taken for a secret by its name alone."""
LEAST_FIELD_CHARS = 6
"""But what fills a field that is called a password may be as short as this."""
LEAST_TOKEN_CHARS = 16
"""Nor is a shorter one that is just called a token, or follows a scheme of authorization."""

_TELLING = re.compile(
    r"pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|token$"
    r"|private[_-]?key|credential|_pass$|^pwd$|authorization$",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"(?:pass(?:word|wd|phrase|code)?|pwd)s?$", re.IGNORECASE)
_MAY_HOLD_BLANKS = re.compile("pass|secret", re.IGNORECASE)
_JUST_A_TOKEN = re.compile(r"(?<!auth)(?<!access)(?<!auth[_-])(?<!access[_-])(?<!_)token$", re.IGNORECASE)
_ABOUT = re.compile(
    r"(?:[_.-]|(?<=[a-z])(?=[A-Z]))(?i:ids?|count|name|path|file|url|uri|type|len|length|size|field|label|hint|limit"
    r"|policy|error|message|regex|pattern|placeholder|prefix|expires|expiry|expiration|ttl|index|usage|budget|used|manager)$"
    r"|(?i:(?:next|page|pagination|continuation|sync|client[_-]?request|idempotency|public[_-]?key)[_-]?token|secretsmanager)$"
)
"""The end of a name that is about a secret, or of a token that opens nothing: a place in a list, the number of a
request.
"""
_REFERENCE = re.compile(
    r"\$\{|\{\{|\benv\b|redacted|::|^[$%<{(]|^arn:"
    r"|^[A-Za-z_]\w*(?:\[[\w-]*\])?(?:[.][A-Za-z_]\w*(?:\[[\w-]*\])?)+$"
    r"|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^[a-z]\w*_(?:key|token|secret|password)(?:_?\w{1,3})?$"
    r"|^\d{4}-\d\d-\d\d(?:[T ]|$)|[aA]-[zZ]\S{0,3}0-9|0-9\S{0,3}[aA]-[zZ]"
)
"""A value that says where a secret is kept, when it was made or what it may look like, not what it is."""
_PATH = re.compile(
    r"(?:[.~]{0,2}|[A-Za-z]:|file:/?)[/\\][\w.@~-]+(?:[/\\][\w.@~-]*)*$|[\w.@-]+(?:/[\w.@-]+)*\.[a-z]{1,5}\d?$|https?://\S+$"
)
_RANDOM = re.compile(
    r"(?=[A-Z\d+=]{0,80}[a-z])(?=[a-z\d+=]{0,80}[A-Z])(?=[A-Za-z+=]{0,80}\d)[A-Za-z\d+=]{16}"
)
_SENTENCE = re.compile(
    r"\b(?:must|should|cannot|can't|enter|your|please|least|required|invalid|characters?|is|are|was|not|passwords?"
    r"|passphrase|secret|token|key)\b",
    re.IGNORECASE,
)
"""Words of those who write about passwords."""
_PLACEHOLDER = re.compile(r"(?:your[_-]?)?(?:pass(?:word|wd)?|pwd|secret|token)|[*.xX]+", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey)\s+", re.IGNORECASE)


def telling(name: str) -> bool:
    """Whether a name says that its value is secret."""
    return _TELLING.search(name) is not None and _ABOUT.search(name) is None


def secret(name: str, value: str, *, quoted: bool = False) -> bool:
    """Whether what a text gives to a telling name is secret; in quotes a password may hold blanks."""
    if _ABOUT.search(name) is not None or len(value) < LEAST_CHARS:
        return False
    if _JUST_A_TOKEN.search(name) is not None and len(value) < LEAST_TOKEN_CHARS:
        return False
    if len(value.split(None, 1)) > 1 and not (quoted and _MAY_HOLD_BLANKS.search(name) and _phrase(value)):
        return False
    return _mixed(value) and not is_reference(value)


def field(name: str, value: str) -> bool:
    """Whether the whole text of an object's field is secret."""
    value = value.strip()
    if name.lower().endswith("authorization"):
        return header(value)
    if secret(name, value, quoted=True):
        return True
    if (
        _PASSWORD.search(name) is None
        or len(value) < LEAST_FIELD_CHARS
        or "\n" in value
        or is_reference(value)
    ):
        return False
    if len(value.split(None, 1)) > 1:
        return _phrase(value)
    return not value.isalpha() and set(value) - set("*•.xX") != set()


def header(value: str) -> bool:
    """Whether a value of an authorization header holds a secret."""
    scheme = _SCHEME.match(value)
    rest = value[scheme.end() :] if scheme is not None else value
    if scheme is not None and scheme[0].lower().startswith("basic"):
        return len(rest) >= LEAST_CHARS and (_mixed(rest) or not rest.islower()) and not is_reference(rest)
    return bearer(rest)


def bearer(value: str) -> bool:
    """Whether what follows a scheme of authorization is a secret."""
    return len(value) >= LEAST_TOKEN_CHARS and _mixed(value) and not is_reference(value)


def is_reference(value: str) -> bool:
    """Whether a value is the place of a secret: a variable, an expression, a path."""
    if _REFERENCE.search(value) is not None:
        return True
    return _PATH.match(value) is not None and _RANDOM.search(value) is None


def in_address(value: str) -> bool:
    """Whether what stands between a user and a host is a password, and not the word for one."""
    return _PLACEHOLDER.fullmatch(value) is None


def _phrase(value: str) -> bool:
    return _SENTENCE.search(value) is None


def _mixed(value: str) -> bool:
    return any(char.isalpha() for char in value) and any(char.isdigit() for char in value)
