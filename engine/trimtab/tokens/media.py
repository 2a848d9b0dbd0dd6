"""Tokens of images and documents, and the size of an image, read from the first bytes of its data.

Images are charged by their pixels, never by their bytes: width times height / 750, after scaling the longer
side to 1,568 pixels and at most about 1,600 tokens (Anthropic's vision guide; newer models take larger images
at a higher price, which this leaves to the learned factor). Documents have no such formula: a page is a flat
number.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Any

from .estimate import estimate

IMAGE_TOKENS = 1600
"""An image whose size nobody can see (a URL, a file id, an unknown format), and the most any image costs."""
PAGE_TOKENS = 2000
"""One PDF page, which is sent as text and as an image; the vendor names 1,500 to 3,000 for its text."""
DOCUMENT_TOKENS = 5 * PAGE_TOKENS
"""A document whose pages cannot be counted cheaply."""
PIXELS_PER_TOKEN = 750
LONG_SIDE = 1568

_HEAD = 64
_COUNTED = 4_000_000
"""Longer base64 is not decoded to count pages."""
_MARKERS = 512
_STARTS = (b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"RIFF", b"\xff\xd8")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGES = re.compile(rb"/Count\s+(\d{1,6})")


def media_tokens(block: Mapping[str, Any]) -> int:
    """Tokens of an image or document block of any format. Never raises."""
    if block.get("type") == "document":
        return _document_tokens(block)
    size = image_size(block)
    return IMAGE_TOKENS if size is None else size_tokens(*size)


def size_tokens(width: int, height: int) -> int:
    """Tokens of an image of ``width`` by ``height`` pixels, at least 1 and at most ``IMAGE_TOKENS``."""
    scale = min(1.0, LONG_SIDE / max(width, height, 1))
    return max(1, min(IMAGE_TOKENS, round(width * scale * height * scale / PIXELS_PER_TOKEN)))


def image_size(block: Mapping[str, Any]) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP image given as base64; else None. Never raises.

    Takes Anthropic's ``source``, OpenAI's ``image_url`` (an object or a string) and data URLs. Only the
    header is decoded.
    """
    data = _image_data(block)
    if data is None:
        return None
    head = _bytes(data, 0, _HEAD)
    if head.startswith(b"\xff\xd8"):
        size = _jpeg(data)
    elif head.startswith(_STARTS[0]):
        size = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    elif head.startswith((_STARTS[1], _STARTS[2])):
        size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    else:
        size = _webp(head)
    return size if size is not None and size[0] > 0 and size[1] > 0 else None


def _image_data(block: Mapping[str, Any]) -> str | None:
    """The block's base64 without a data URL's prefix."""
    source = block.get("source")
    if isinstance(source, Mapping):
        data = source.get("data") if source.get("type", "base64") == "base64" else source.get("url")
    else:
        data = block.get("image_url")
        if isinstance(data, Mapping):
            data = data.get("url")
    if not isinstance(data, str):
        return None
    if data.startswith("data:"):
        comma = data.find(",", 0, 256)
        if comma < 0 or not data[:comma].endswith(";base64"):
            return None
        data = data[comma + 1 :]
    elif "://" in data[:16]:
        return None
    if not data[:100].isascii() or any(blank in data[:100] for blank in "\r\n "):
        # Wrapped base64: offsets count only without the line ends. A header lies in the first part in any
        # case.
        data = "".join(data[:400_000].split())
    return data


def _bytes(data: str, start: int, count: int) -> bytes:
    """``count`` bytes of the decoded data from ``start``, or what there is; nothing where it is no base64."""
    first = start // 3
    text = data[4 * first : 4 * ((start + count) // 3 + 1)]
    try:
        raw = b64decode(text[: len(text) // 4 * 4])
    except (Base64Error, ValueError):
        return b""
    return raw[start - 3 * first :][:count]


def _jpeg(data: str) -> tuple[int, int] | None:
    """Walk the segments to the frame header; what lies between is skipped undecoded."""
    at = 2
    for _ in range(_MARKERS):
        part = _bytes(data, at, 9)
        if len(part) < 4 or part[0] != 0xFF:
            return None
        marker = part[1]
        if marker == 0xFF:
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            if len(part) < 9:
                return None
            return int.from_bytes(part[7:9]), int.from_bytes(part[5:7])
        elif marker in (0xD9, 0xDA):
            return None
        else:
            at += 2 + int.from_bytes(part[2:4])
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    kind = head[12:16]
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        return (
            int.from_bytes(head[26:28], "little") & 0x3FFF,
            int.from_bytes(head[28:30], "little") & 0x3FFF,
        )
    return None


def _document_tokens(block: Mapping[str, Any]) -> int:
    extra = sum(estimate(text) for key in ("title", "context") if isinstance(text := block.get(key), str))
    source = block.get("source")
    if not isinstance(source, Mapping):
        return DOCUMENT_TOKENS + extra
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        return estimate(data) + extra
    if source.get("type") == "content":
        return _content_tokens(source.get("content")) + extra
    if isinstance(data, str) and len(data) <= _COUNTED:
        return _pages(data) * PAGE_TOKENS + extra
    return DOCUMENT_TOKENS + extra


def _content_tokens(content: object) -> int:
    if isinstance(content, str):
        return estimate(content)
    total = 0
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping):
            text = part.get("text")
            if isinstance(text, str):
                total += estimate(text)
            else:
                total += DOCUMENT_TOKENS if part.get("type") == "document" else media_tokens(part)
    return total


def _pages(data: str) -> int:
    """Pages of a PDF in base64: its page objects, else the largest count it names; 5 where it hides both."""
    try:
        raw = b64decode(data)
    except (Base64Error, ValueError):
        return DOCUMENT_TOKENS // PAGE_TOKENS
    counted = len(_PAGE.findall(raw)) or max((int(number) for number in _PAGES.findall(raw)), default=0)
    return counted or DOCUMENT_TOKENS // PAGE_TOKENS
