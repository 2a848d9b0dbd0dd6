"""How far the estimate is from o200k_base on recorded sessions: ``python bench/estimate_error.py [FOLDER]``.

Reads every JSON and JSON Lines file below FOLDER (else below TRIMTAB_DATA) whatever its format, takes each
distinct block once, and prints the aggregate ratio and the error of single blocks. ``held out`` are the files
that took no part in fitting the weights. Needs toktok-rs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

from trimtab.conversation.items import ItemMaker
from trimtab.tokens import estimate, make, media_tokens

LEAST = 200
"""Errors of single blocks are shown for blocks of at least so many tokens."""


def held_out(name: str) -> bool:
    """Whether a file, by its name relative to the folder with ``/``, took no part in the fit."""
    return crc32(name.encode()) & 1 == 1


def blocks(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """File name, kind and value of each distinct block: the text, or the input of a call."""
    seen: set[tuple[str, str]] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".jsonl", ".traj"):
            continue
        for document in _documents(path.read_text(encoding="utf-8", errors="replace")):
            for kind, value in _walk(document):
                key = (kind, value if isinstance(value, str) else json.dumps(value))
                if value and key not in seen:
                    seen.add(key)
                    yield path.relative_to(folder).as_posix(), kind, value


def _documents(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass  # not one document: one a line, and lines that are none are passed over
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for part in value:
            yield from _walk(part)
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if kind in ("text", "thinking") and isinstance(value.get(kind), str):
        yield kind, value[kind]
        return
    if kind == "tool_use":
        yield kind, value.get("input")
        return
    if kind == "tool_result":
        content = value.get("content")
        for part in [content] if isinstance(content, str) else content or ():
            text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield kind, text
        return
    if value.get("role") and isinstance(value.get("content"), str):
        yield ("tool_result" if value["role"] == "tool" else "text"), value["content"]
    for key in ("output", "observation"):
        if isinstance(value.get(key), str):
            yield "tool_result", value[key]
    if isinstance(value.get("arguments"), str):
        try:
            yield "tool_use", json.loads(value["arguments"])
        except ValueError:
            yield "tool_use", value["arguments"]
    for key, part in value.items():
        if key != "toolUseResult":  # the client's own copy, never sent to a model
            yield from _walk(part)


Row = tuple[str, str, int, int]
"""File, kind, tokens, estimate."""


def measure(folder: Path) -> list[Row]:
    """One row a block, a call as its JSON; once more (``summed``) as the engine adds it up, by string."""
    found = list(blocks(folder))
    texts = [_text(value) for _, _, value in found]
    maker = ItemMaker(estimate, media_tokens)
    rows: list[Row] = []
    counts = make("toktok").count_many(texts)
    for (name, kind, value), text, tokens in zip(found, texts, counts, strict=True):
        rows.append((name, kind, tokens, estimate(text)))
        if kind == "tool_use":
            rows.append((name, "summed", tokens, maker.measure(value)[1]))
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def errors(rows: Sequence[Row]) -> tuple[float, list[float]]:
    """Estimated tokens for each real one, and the sorted errors of blocks of at least ``LEAST`` tokens."""
    true = sum(row[2] for row in rows)
    single = sorted(abs(row[3] - row[2]) / row[2] for row in rows if row[2] >= LEAST)
    return (sum(row[3] for row in rows) / true if true else 1.0), single


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value at ``share`` of an ordered list; 0 for an empty one."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def _line(name: str, rows: Sequence[Row]) -> str:
    ratio, single = errors(rows)
    shares = "".join(f"{quantile(single, share):8.1%}" for share in (0.5, 0.9, 0.95))
    return (
        f"{name:22}{len(rows):8,}{sum(row[2] for row in rows):12,}{ratio - 1:+8.1%}{len(single):8,}{shares}"
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table; 2 without a folder, 5 when it holds no block."""
    folder = Path(arguments[0] if arguments else os.environ.get("TRIMTAB_DATA", ""))
    if not (arguments or os.environ.get("TRIMTAB_DATA")) or not folder.is_dir():
        print("usage: python bench/estimate_error.py FOLDER (or set TRIMTAB_DATA)", file=sys.stderr)
        return 2
    rows = measure(folder)
    if not rows:
        print(f"no blocks below {folder}", file=sys.stderr)
        return 5
    print(f"{'':22}{'blocks':>8}{'tokens':>12}{'sum':>8}{f'≥ {LEAST}':>8}{'p50':>8}{'p90':>8}{'p95':>8}")
    own = [row for row in rows if row[1] != "summed"]
    print(_line("all", own))
    print(_line("  held out", [row for row in own if held_out(row[0])]))
    for kind in ("text", "thinking", "tool_use", "summed", "tool_result"):
        print(_line(kind, [row for row in rows if row[1] == kind]))
        print(_line("  held out", [row for row in rows if row[1] == kind and held_out(row[0])]))
    texts = [value for _, _, value in blocks(folder) if isinstance(value, str)]
    start = perf_counter()
    for text in texts:
        estimate(text)
    spent = perf_counter() - start
    each = spent * 1e6 / max(1, len(texts))
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} characters: {each:.2f} µs a text")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
