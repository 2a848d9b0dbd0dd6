"""Tokens of a text without a vocabulary: close to o200k_base, the same on every machine, at a near-constant
cost.

A tokenizer of this family first splits a text where the kind of character changes (letters, digits, spaces,
…) and then merges inside the pieces. So the number of tokens is, to a few per cent, a sum over neighbouring
characters of a weight that depends only on the two kinds. ``_PAIRS`` holds these weights for sixteen kinds;
everything beyond ASCII adds a weight for its script. Both tables were fitted by least squares against
o200k_base on half of a set of recorded sessions, on source code, manual pages and translations in thirty
languages, and on generated base64, hex, logs, JSON; `docs/tokens.md` states the errors on the other half and
how to measure them again.

The sum is done by C code over bytes, never by a Python loop: ``translate`` turns characters into kinds, one
shift of the bytes read as a long integer puts each kind beside the next, a second ``translate`` turns pairs
into weights, and the low half of an Adler-32 checksum is their sum (exact up to 65,520, which ``SAMPLE``
characters cannot exceed).
"""

from __future__ import annotations

from zlib import adler32

SAMPLE = 256
"""Characters looked at: a text up to this length whole, a longer one in four slices spread over it evenly."""

_SLICE = SAMPLE // 4
_UNIT = 128
"""Weights are in 1/128 token."""
_JOINTS = 3 * _UNIT // 4
"""What three joints between slices cost too much: a cut word counts twice (a quarter of a token each,
measured)."""

_KINDS = (
    "",  # 0: the end of the text and what has a script weight of its own
    "aeiou",
    "bcdfglmnprst",
    "jkqvwxzhy",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    " ",
    "",  # 7: line ends and control characters
    "\t",
    ".",
    "_",
    "-",
    "/\\",
    "()[]{}<>;:,",
    "\"'`",
    "=+*&|!?@#$%^~",
)

_CONTROL, _RARE, _SIGN = 7, 3, 15

# One row a kind, one column the kind of the character behind it.
# fmt: off
_PAIRS = (
    (0, 0, 0, 58, 59, 82, 17, 104, 21, 5, 98, 87, 50, 72, 71, 72),
    (133, 3, 4, 18, 82, 123, 73, 169, 99, 70, 99, 17, 207, 91, 65, 103),
    (87, 6, 4, 25, 102, 89, 71, 173, 104, 63, 87, 57, 78, 93, 43, 127),
    (87, 0, 28, 64, 128, 183, 66, 137, 51, 67, 51, 142, 110, 76, 104, 66),
    (143, 25, 43, 33, 18, 204, 57, 109, 99, 96, 85, 147, 177, 101, 38, 182),
    (82, 132, 147, 158, 162, 42, 99, 156, 160, 111, 0, 151, 179, 97, 17, 110),
    (63, 43, 30, 37, 17, 174, 7, 73, 59, 140, 95, 77, 87, 37, 89, 37),
    (146, 95, 151, 111, 134, 15, 115, 0, 75, 125, 72, 95, 0, 70, 85, 91),
    (51, 50, 20, 36, 145, 83, 12, 20, 24, 78, 107, 67, 83, 133, 163, 108),
    (156, 108, 55, 25, 55, 126, 137, 59, 64, 7, 89, 65, 0, 86, 30, 96),
    (111, 78, 51, 55, 33, 245, 38, 73, 64, 62, 69, 65, 50, 42, 35, 69),
    (96, 38, 143, 136, 122, 83, 85, 78, 100, 65, 65, 2, 78, 134, 60, 103),
    (72, 180, 81, 30, 57, 132, 34, 0, 66, 38, 49, 76, 43, 74, 5, 101),
    (122, 103, 75, 43, 107, 126, 89, 78, 88, 75, 69, 98, 73, 16, 43, 50),
    (96, 123, 49, 59, 79, 42, 129, 68, 60, 0, 34, 85, 58, 77, 20, 0),
    (96, 91, 141, 113, 115, 62, 77, 54, 86, 68, 110, 118, 52, 81, 55, 4),
)
# fmt: on

_LATIN_LETTER = 96
"""Added for an accented Latin letter (U+00C0 - U+00FF), which else counts as a rare ASCII letter."""
_OTHER_SCRIPT = 192
"""Blocks without a weight below: one and a half tokens a character (two to three bytes, hardly any
merges)."""

_SCRIPTS = (
    (0x01, 0x01, 68),  # Latin Extended
    (0x02, 0x02, 38),  # phonetic
    (0x03, 0x03, 39),  # Greek
    (0x04, 0x04, 22),  # Cyrillic
    (0x05, 0x05, 39),  # Armenian, Hebrew
    (0x06, 0x06, 31),  # Arabic
    (0x09, 0x09, 35),  # Devanagari, Bengali
    (0x0A, 0x0A, 35),  # Gurmukhi, Gujarati (as Devanagari)
    (0x0B, 0x0B, 40),  # Oriya, Tamil
    (0x0C, 0x0C, 54),  # Telugu, Kannada
    (0x0D, 0x0D, 54),  # Malayalam, Sinhala
    (0x0E, 0x0E, 48),  # Thai, Lao
    (0x10, 0x10, 38),  # Georgian, Burmese
    (0x12, 0x13, 240),  # Ethiopic
    (0x17, 0x17, 61),  # Khmer
    (0x1E, 0x1E, 0),  # Vietnamese letters: their cost lies in the pairs around them
    (0x20, 0x20, 84),  # dashes, quotes, bullets
    (0x21, 0x21, 111),  # arrows
    (0x22, 0x22, 36),  # mathematics
    (0x23, 0x23, 38),  # technical signs
    (0x25, 0x25, 32),  # box drawing, blocks
    (0x26, 0x26, 37),  # symbols
    (0x27, 0x27, 28),  # dingbats
    (0x30, 0x30, 79),  # kana, CJK punctuation
    (0x4E, 0x9F, 90),  # CJK ideographs
    (0xAC, 0xD7, 63),  # Hangul
    (0xD8, 0xDB, 19),  # half of a surrogate pair
    (0xDC, 0xDF, 19),  # the other half
    (0xE0, 0xF8, 38),  # private use
    (0xFE, 0xFE, 43),  # variation selectors
    (0xFF, 0xFF, 41),  # full-width forms
)
"""First and last high byte of a UTF-16 unit, and what such a unit adds."""


def _kinds(wide: bool) -> bytes:
    table = bytearray([_CONTROL]) * 128 + bytearray([_SIGN]) * 64 + bytearray([_RARE]) * 64
    for kind, characters in enumerate(_KINDS):
        for character in characters:
            table[ord(character)] = kind
    if wide:
        table[ord("?")] = 0  # what the Latin-1 codec writes for a character it does not know
    return bytes(table)


def _scripts() -> bytes:
    table = bytearray([_OTHER_SCRIPT]) * 256
    table[0] = 0
    for first, last, weight in _SCRIPTS:
        for high in range(first, last + 1):
            table[high] = weight
    return bytes(table)


_NARROW, _WIDE, _SCRIPT = _kinds(False), _kinds(True), _scripts()
_PAIR = bytes(_PAIRS[pair & 15][pair >> 4] for pair in range(256))
_BELOW_LETTERS = bytes(range(0xC0))
_from_bytes = int.from_bytes


def estimate(text: str) -> int:
    """Tokens of ``text``, about as o200k_base would count them; 0 only for the empty text. Never raises.

    Reads at most ``SAMPLE`` characters. Lone surrogates count as characters of an unknown script.
    """
    size = len(text)
    if size <= SAMPLE:
        sample, length = text, size
    else:
        step = (size - _SLICE) // 3
        twice = 2 * step
        # One f-string builds the sample without the intermediate strings of a chain of additions.
        sample = f"{text[:_SLICE]}{text[step : step + _SLICE]}{text[twice : twice + _SLICE]}{text[-_SLICE:]}"
        length = SAMPLE
    if sample.isascii():
        kinds = _from_bytes(sample.encode().translate(_NARROW), "little")
        units = (adler32((kinds | kinds >> 4).to_bytes(length, "little").translate(_PAIR)) & 0xFFFF) - 1
    else:
        units = _wide_units(sample)
    if size <= SAMPLE:
        return (units + 64) // _UNIT or (1 if size else 0)
    # A sample that costs hardly more than its joints (blank text) must not turn negative.
    units = units - _JOINTS if units > 2 * _JOINTS else units // 2
    return units * size // (SAMPLE * _UNIT) or 1


def _wide_units(sample: str) -> int:
    """Tokens of a sample that is not all ASCII, in 1/128."""
    latin = sample.encode("latin-1", "replace")
    kinds = _from_bytes(latin.translate(_WIDE), "little")
    pairs = (kinds | kinds >> 4).to_bytes(len(sample), "little")
    high = sample.encode("utf-16-le", "surrogatepass")[1::2]
    letters = 0 if latin.isascii() else len(latin.translate(None, _BELOW_LETTERS))
    return (
        (adler32(pairs.translate(_PAIR)) & 0xFFFF)
        + (adler32(high.translate(_SCRIPT)) & 0xFFFF)
        + letters * _LATIN_LETTER
        - 2
    )
