from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.tokens import estimate, image_size, media_tokens
from trimtab.tokens.media import DOCUMENT_TOKENS, IMAGE_TOKENS, PAGE_TOKENS, size_tokens


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + bytes(90)
    )


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(60)


def jpeg(width: int, height: int, thumbnail: int = 40_000, frame: int = 0xC2) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", thumbnail + 2) + b"\xff\xc0" * (thumbnail // 2)
    frame_header = bytes((0xFF, frame)) + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return (
        b"\xff\xd8"
        + exif
        + b"\xff\xdb\x00\x43"
        + bytes(65)
        + b"\xff"
        + frame_header
        + b"\xff\xda"
        + bytes(200)
    )


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + bytes(40)


def image(data: bytes | str, **source: Any) -> dict[str, Any]:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text, **source}}


WEBP = {
    "lossy": webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 640, 480)),
    "lossless": webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
    "extended": webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
}


@pytest.mark.parametrize(
    "data", [png(640, 480), gif(640, 480), jpeg(640, 480), jpeg(640, 480, 4, 0xC0), *WEBP.values()]
)
def test_the_size_is_read_from_every_format(data: bytes) -> None:
    assert image_size(image(data)) == (640, 480)


def test_a_header_is_read_from_wrapped_base64_and_from_data_urls() -> None:
    wrapped = base64.encodebytes(jpeg(1024, 768)).decode()
    url = "data:image/png;base64," + base64.b64encode(png(10, 20)).decode()
    assert image_size(image(wrapped)) == (1024, 768)
    assert image_size({"type": "image_url", "image_url": {"url": url}}) == (10, 20)
    assert image_size({"type": "input_image", "image_url": url}) == (10, 20)
    assert image_size({"type": "image", "source": {"type": "url", "url": url}}) == (10, 20)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "source": {"type": "base64", "data": "not base64!"}},
        {"type": "image", "source": {"type": "base64", "data": None}},
        {"type": "image", "source": None},
        {"type": "image"},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
        image(png(0, 10)),
        image(jpeg(1, 1)[:3]),
        image(b"\xff\xd8\xff\xda" + bytes(50)),
        image(b"RIFF\x00\x00\x00\x00WEBPVP9 " + bytes(40)),
    ],
)
def test_an_image_nobody_can_measure_costs_the_most(block: dict[str, Any]) -> None:
    assert image_size(block) is None
    assert media_tokens(block) == IMAGE_TOKENS


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((200, 200), 53),
        ((1000, 1000), 1333),
        ((1092, 1092), 1590),
        ((1, 1), 1),
        ((8000, 2000), 820),
        ((4000, 4000), 1600),
    ],
)
def test_an_image_costs_its_pixels_after_scaling(size: tuple[int, int], tokens: int) -> None:
    assert size_tokens(*size) == tokens
    assert media_tokens(image(png(*size))) == tokens


def test_bytes_do_not_matter() -> None:
    assert media_tokens(image(png(300, 300) + bytes(500_000))) == media_tokens(image(png(300, 300)))


def test_a_text_document_costs_its_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "some words of a document " * 40}
    plain = media_tokens({"type": "document", "source": source})
    assert plain == estimate(source["data"])
    assert media_tokens({"type": "document", "source": source, "title": "Words"}) == plain + estimate("Words")


def test_a_document_of_blocks_costs_its_blocks() -> None:
    content = [{"type": "text", "text": "a line of text"}, image(png(300, 300))]
    block = {"type": "document", "source": {"type": "content", "content": content}}
    assert media_tokens(block) == estimate("a line of text") + 120


def test_a_pdf_costs_its_pages() -> None:
    pages = b"".join(b"<< /Type /Page /Parent 1 0 R >>\n" for _ in range(7))
    data = base64.b64encode(b"%PDF-1.4\n<< /Type /Pages /Count 7 >>\n" + pages).decode()
    assert media_tokens({"type": "document", "source": {"type": "base64", "data": data}}) == 7 * PAGE_TOKENS


@pytest.mark.parametrize(
    "source", [None, {"type": "url", "url": "https://example.org/a.pdf"}, {"type": "base64", "data": "JVBE"}]
)
def test_a_document_nobody_can_count_costs_a_flat_number(source: Any) -> None:
    assert media_tokens({"type": "document", "source": source}) == DOCUMENT_TOKENS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["image", "document", "image_url", "odd"]),
    st.sampled_from(["base64", "text", "content", "url"]),
    JSON | st.binary(max_size=80).map(lambda raw: base64.b64encode(raw).decode()),
)
@settings(max_examples=150)
def test_no_block_raises(kind: str, source: str, data: Any) -> None:
    block = {
        "type": kind,
        "source": {"type": source, "data": data, "content": data, "url": data},
        "image_url": data,
    }
    assert media_tokens(block) >= 0
    assert media_tokens({"type": kind, "source": data}) >= 0


@given(
    st.sampled_from([b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF0000WEBPVP8X"]),
    st.binary(max_size=200),
)
@settings(max_examples=100)
def test_no_damaged_header_raises(start: bytes, rest: bytes) -> None:
    assert 1 <= media_tokens(image(start + rest)) <= IMAGE_TOKENS
