"""What a text looks like: characters that pass for others, and those nobody sees, folded away."""

from __future__ import annotations

import re
import unicodedata

_LETTERS = {
    "a": "аɑα",
    "b": "ьƅ",
    "c": "сϲᴄ",
    "d": "ԁɗ",
    "e": "еҽєε℮",
    "g": "ɡց",
    "h": "һհ",
    "i": "іıιɩ",
    "j": "ј",
    "k": "кκᴋ",
    "l": "ӏӀ",
    "m": "мᴍ",
    "n": "пոη",
    "o": "оοօσ",
    "p": "рρ",
    "r": "гᴦʀ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υսʋᴜ",
    "v": "ѵνᴠ",
    "w": "ѡԝᴡ",
    "x": "хχ",
    "y": "уүγ",
    "z": "ᴢ",
}
"""Letters of other scripts by the Latin one they look like; what NFKD folds by itself is not among them."""
_MARKS = {
    "<": "‹〈⟨❬❮˂ᐸ≺⧼𝈶",
    ">": "›〉⟩❭❯˃ᐳ≻⧽𝈷",
    "/": "∕⁄╱⧸⟋",
    "-": "‐‑‒–—―−⁃﹘ー",
    "[": "〔【〖⟦❲⁅⦋〚「『",
    "]": "〕】〗⟧❳⁆⦌〛」』",
    ":": "։׃∶꞉˸",
    "#": "♯",
}
"""Punctuation by what it looks like."""
_FOLDED = str.maketrans(
    {char: plain for table in (_LETTERS, _MARKS) for plain, chars in table.items() for char in chars}
)
_UNSEEN = frozenset({"Cf", "Mn", "Me", "Cc"})
OPENINGS = re.compile("[<＜﹤" + _MARKS["<"] + "]")
"""Characters that look like the beginning of a tag."""
STEERING = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Characters that change the order in which text is shown, or hide text altogether (tags): never in plain prose."""


def skeleton(text: str) -> str:
    """The text as it looks: compatibility forms folded, look-alikes made plain, the unseen taken out, in lower case.

    White space stays, as blanks.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.translate(_FOLDED)).translate(_FOLDED)
    seen = [
        " " if char.isspace() else char
        for char in folded
        if char.isspace() or unicodedata.category(char) not in _UNSEEN
    ]
    return "".join(seen).casefold().translate(_FOLDED)


def visible(text: str) -> str:
    """The text with characters that steer or hide it written out as ``\\u202e``."""
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
