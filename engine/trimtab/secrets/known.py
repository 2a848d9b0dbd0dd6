"""Keys and tokens with a form of their own, also where a line end breaks them up."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from .spans import Found, Glued

LINE_ENDS = re.compile(r"(?:\n|\r\n|\\n|\\r\\n|\\\n|\\\r\n)[ \t]*")
"""What may stand in the middle of a token that was wrapped: a line end, also one written as in JSON."""
_WORD = re.compile(r"[\w-]")
LEAST_REST = 4
"""Characters that a line must begin with to be taken for the rest of a token that is whole without them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of token: a ``prefix`` behind no word, its ``body``, and what may not follow.

    ``hints``: one of them is in every text that holds such a token.
    """

    name: str
    hints: tuple[str, ...]
    prefix: str
    body: str
    before: str = r"(?<!\w)"
    behind: str = ""
    plain: re.Pattern[str] = field(init=False)
    start: re.Pattern[str] = field(init=False)
    core: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        core = f"(?:{self.prefix})(?:{self.body})"
        object.__setattr__(self, "plain", re.compile(self.before + core + self.behind))
        object.__setattr__(self, "start", re.compile(self.prefix))
        object.__setattr__(self, "core", re.compile(core))


_NO_KEBAB = r"(?<![\w-])"
KINDS = (
    Kind("anthropic key", ("sk-ant-",), "sk-ant-", r"[\w-]{20,200}"),
    Kind("openai key", ("sk-",), r"sk-(?!ant-)(?:proj-|svcacct-|admin-)?", r"[\w-]{20,200}", _NO_KEBAB),
    Kind(
        "github token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        "gh[pousr]_|github_pat_",
        r"(?<=gh[pousr]_)[A-Za-z0-9]{30,255}|(?<=_pat_)\w{22,255}",
    ),
    Kind(
        "gitlab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glagent-", "glsoat-"),
        "gl(?:pat|dt|rt|ptt|agent|soat)-",
        r"[\w-]{20,64}",
    ),
    Kind(
        "aws key", ("AKIA", "ASIA", "ABIA", "ACCA"), "AKIA|ASIA|ABIA|ACCA", "[A-Z0-9]{16}", behind=r"(?!\w)"
    ),
    Kind(
        "google key",
        ("AIza", "ya29.", "GOCSPX-"),
        r"AIza|ya29\.|GOCSPX-",
        r"(?<=AIza)[\w-]{35}|(?<=29\.)[\w-]{20,500}|(?<=SPX-)[\w-]{20,64}",
    ),
    Kind("slack token", ("xox",), "xox[abeoprs]-", r"[\w-]{10,250}"),
    Kind("slack token", ("hooks.slack",), r"hooks\.slack\.com/services/", r"[\w/-]{20,100}"),
    Kind(
        "stripe key", ("k_live_", "k_test_", "whsec_"), "[sr]k_(?:live|test)_|whsec_", "[A-Za-z0-9]{16,250}"
    ),
    Kind("npm token", ("npm_",), "npm_", "[A-Za-z0-9]{36}", behind=r"(?!\w)"),
    Kind("pypi token", ("pypi-AgEI",), "pypi-AgEI", r"[\w-]{50,500}"),
    Kind("hugging face token", ("hf_",), "hf_", "[A-Za-z0-9]{30,60}", behind=r"(?!\w)"),
    Kind("sendgrid key", ("SG.",), r"SG\.", r"[\w-]{16,64}\.[\w-]{16,128}"),
    Kind("json web token", ("eyJ",), "eyJ", r"[\w-]{8,2000}+\.eyJ[\w-]{8,4000}+\.[\w-]{8,2000}"),
)


def find(glued: Glued) -> Iterator[Found]:
    """Every token, and the wrapped ones with the rests of them; ``glued`` is without ``LINE_ENDS``."""
    for kind in KINDS:
        if any(hint in glued.text for hint in kind.hints):
            yield from _wrapped(glued, kind)
            for one in kind.plain.finditer(glued.whole):
                yield Found(one.start(), one.end(), kind.name)


def _wrapped(glued: Glued, kind: Kind) -> Iterator[Found]:
    """Tokens of a kind that hold a line end."""
    text = glued.text
    done = 0
    for prefix in kind.start.finditer(text):
        start = prefix.start()
        if start < done:
            continue
        if start and _WORD.match(text, start - 1):
            # Unless that word is the end of the line before.
            place = bisect_left(glued.cuts, start)
            if place == len(glued.cuts) or glued.cuts[place] != start:
                continue
        one = kind.core.match(text, start)
        if one is None:
            continue
        first, last = bisect_right(glued.cuts, start), bisect_left(glued.cuts, one.end())
        cuts = glued.cuts[first:last]
        if not cuts:
            continue
        stop = _end(kind, text, [start, *cuts, one.end()])
        if stop is not None:
            yield Found(*glued.back(start, stop), kind.name)
            done = stop


def _end(kind: Kind, text: str, marks: list[int]) -> int | None:
    """Where a token ends whose lines lie between these marks; None if no line end is in it."""
    needed = next(
        (place for place in range(1, len(marks)) if kind.core.fullmatch(text, marks[0], marks[place])), None
    )
    if needed is None:
        return None
    if needed > 1 and not any(char.isdigit() for char in text[marks[0] : marks[needed]]):
        return None
    last = needed
    while last + 1 < len(marks) and _is_rest(kind, text[marks[last] : marks[last + 1]]):
        last += 1
    return marks[last] if last > 1 else None


def _is_rest(kind: Kind, line: str) -> bool:
    """Whether what a line begins with looks like the rest of a token and not like a word."""
    return (
        len(line) >= LEAST_REST
        and any(char.isdigit() for char in line)
        and any(char.isalpha() for char in line)
        and kind.start.match(line) is None
    )
