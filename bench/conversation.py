"""The reference conversation: an agent at work on a code base, made from a seed, of any length.

2,000 messages hold about 4.5 MB of text and 1.2 million tokens; one in ten carries a tool result of more than
8,000 characters. Run as a program it prints these figures: ``python bench/conversation.py [MESSAGES]
[SEED]``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]

LARGE = 8_000
"""A result above this many characters counts as large."""

# fmt: off
_PARTS = (
    "parser", "token", "buffer", "index", "cache", "window", "record", "session", "reader", "writer",
    "limit", "score", "batch", "queue", "worker", "retry", "header", "cursor", "branch", "commit", "digest",
    "folder", "schema", "column", "market", "invoice", "ledger", "order", "vendor", "price", "region",
    "user", "profile",
)
_VERBS = (
    "load", "read", "write", "build", "merge", "check", "count", "find", "split", "parse", "render",
    "apply", "update", "remove", "collect", "verify",
)
# fmt: on
_FOLDERS = (
    "src/core",
    "src/api",
    "src/storage",
    "lib/io",
    "tests/unit",
    "tests/api",
    "tools",
    "web/components",
)
_ENDINGS = (".py", ".ts", ".go", ".rs", ".md", ".yaml", ".json")
_PHRASES = (
    "the failing case is the empty list",
    "this path is taken only when the cache is cold",
    "I would rather keep the old behaviour here",
    "the second call returns before the first one has finished",
    "we should not swallow that error",
    "the numbers in the report do not add up",
    "nothing else imports this module",
    "a smaller change is possible if the reader stays as it is",
    "the test passes alone and fails together with the others",
    "please look at how the window is computed",
    "that would break every caller that passes a string",
    "the limit is counted in bytes but compared with characters",
)
_OPENERS = (
    "First,",
    "So",
    "It seems that",
    "Now",
    "As expected,",
    "Note that",
    "After the last change,",
    "In short,",
)
_WIDE = (
    "请检查缓存窗口的计算方式，空列表会导致错误。",
    "設定を読み込む順番を確認してください。",
    "Размер окна считается неверно, если список пуст.",
    "La limite est comptée en octets, pas en caractères.",
    "테스트는 혼자서는 통과하지만 함께 실행하면 실패합니다.",
)


class _Writer:
    """Text of the kinds a session holds; every call draws from the one random source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.code = [self._code_line() for _ in range(4_000)]
        self.log = [self._log_line() for _ in range(2_000)]
        self.prose = [self._sentence() for _ in range(2_000)]
        self.data = [self._data_line() for _ in range(1_000)]

    def name(self) -> str:
        draw = self.random
        return f"{draw.choice(_VERBS)}_{draw.choice(_PARTS)}"

    def path(self) -> str:
        draw = self.random
        file = f"{draw.choice(_PARTS)}_{draw.choice(_PARTS)}{draw.choice(_ENDINGS)}"
        return f"/repo/{draw.choice(_FOLDERS)}/{file}"

    def _code_line(self) -> str:
        draw = self.random
        a, b, c = draw.choice(_PARTS), draw.choice(_PARTS), self.name()
        deep = "    " * draw.choice((0, 1, 1, 2, 2, 3))
        return deep + draw.choice(
            (
                f"def {c}(self, {a}: str, {b}: int = {draw.randrange(64)}) -> list[str]:",
                f"if not {a}.{b} or len({a}) > {draw.randrange(9_000)}:",
                f'raise ValueError(f"{a} {{{b}!r}} is not a {draw.choice(_PARTS)}")',
                f"self.{a} = {c}({b}, timeout={draw.randrange(99)})",
                f"return [{a} for {a} in self.{b} if {a}.{c}()]",
                f'assert {c}("{a}") == {{"{b}": {draw.randrange(999)}, "ok": True}}',
                f"from {a}.{b} import {c.title().replace('_', '')}",
                f"# {draw.choice(_PHRASES)}",
                f"const {a}Of{b.title()} = await {self.name()}({a}.id, {{ depth: {draw.randrange(9)} }});",
                "",
                "}",
            )
        )

    def _log_line(self) -> str:
        draw = self.random
        clock = f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}"
        level = draw.choice(("INFO", "INFO", "DEBUG", "WARN", "ERROR"))
        where = f"{draw.choice(_PARTS)}.{draw.choice(_PARTS)}"
        day = draw.randrange(1, 29)
        return (
            f"2026-03-{day:02}T{clock}Z {level} {where}: {draw.choice(_PHRASES)} ({draw.randrange(5_000)} ms)"
        )

    def _sentence(self) -> str:
        draw = self.random
        ending = f", and {draw.choice(_PHRASES)}" if draw.random() < 0.4 else ""
        named = f" (`{self.name()}`)" if draw.random() < 0.3 else ""
        return f"{draw.choice(_OPENERS)} {draw.choice(_PHRASES)}{named}{ending}."

    def _data_line(self) -> str:
        draw = self.random
        return (
            f'{{"id": "{draw.getrandbits(64):016x}", "{draw.choice(_PARTS)}": {draw.random() * 1000:.3f}, '
            f'"{draw.choice(_PARTS)}": ["{draw.choice(_PARTS)}", "{draw.choice(_PARTS)}"], "done": false}},'
        )

    def text(self, sentences: int) -> str:
        draw = self.random
        words = draw.choices(self.prose, k=sentences)
        if draw.random() < 0.05:
            words.append(draw.choice(_WIDE))
        return " ".join(words)

    def lines(self, pool: list[str], size: int) -> str:
        """Lines of the pool, about ``size`` characters of them."""
        draw = self.random
        picked = draw.choices(pool, k=max(1, size // 44))
        text = "\n".join(picked)
        while len(text) < size:
            text += "\n" + "\n".join(draw.choices(pool, k=max(1, (size - len(text)) // 44)))
        return text

    def numbered(self, size: int) -> str:
        """A file as a reading tool shows it: each line behind its number."""
        lines = self.lines(self.code, max(40, size * 6 // 7)).split("\n")
        return "\n".join([f"{number:6}\t{line}" for number, line in enumerate(lines, 1)])


def messages(count: int = 2_000, seed: int = 7) -> Iterator[Message]:
    """The conversation one message at a time: blocks in Anthropic's shape, valid throughout, starting with a
    user."""
    writer = _Writer(seed)
    draw = writer.random
    sent = 0
    calls = 0
    while sent < count:
        yield {"role": "user", "content": writer.text(draw.randrange(1, 9))}
        sent += 1
        rounds = draw.randrange(4, 30)
        for number in range(rounds):
            if sent + 3 > count or number == rounds - 1:
                break
            names = draw.choices(
                ("Read", "Bash", "Grep", "Glob", "Edit", "WebFetch"), (34, 30, 12, 6, 14, 4), k=1
            )
            if draw.random() < 0.08:
                names.append("Read")
            asked: list[Message] = []
            answers: list[Message] = []
            if draw.random() < 0.5:
                asked.append({"type": "text", "text": writer.text(draw.randrange(1, 6))})
            for name in names:
                calls += 1
                identifier = f"toolu_{calls:06d}{draw.getrandbits(48):012x}"
                given, result = _call(writer, name)
                asked.append({"type": "tool_use", "id": identifier, "name": name, "input": given})
                answers.append({"type": "tool_result", "tool_use_id": identifier, "content": result})
            yield {"role": "assistant", "content": asked}
            yield {"role": "user", "content": answers}
            sent += 2
        if sent < count:
            yield {
                "role": "assistant",
                "content": [{"type": "text", "text": writer.text(draw.randrange(3, 12))}],
            }
            sent += 1


def conversation(messages_wanted: int = 2_000, seed: int = 7) -> list[Message]:
    """The conversation as a list; equal arguments give equal conversations."""
    return list(messages(messages_wanted, seed))


def _call(writer: _Writer, name: str) -> tuple[dict[str, Any], str]:
    """Input and result of one call. One in five results is large, so one message in ten is."""
    draw = writer.random
    large = draw.random() < 0.2
    size = draw.randrange(LARGE + 500, 14_250) if large else draw.randrange(100, 1_680)
    path = writer.path()
    if name == "Read":
        return {"file_path": path}, writer.numbered(size)
    if name == "Edit":
        old, new = (
            writer.lines(writer.code, draw.randrange(80, 500)),
            writer.lines(writer.code, draw.randrange(80, 700)),
        )
        return {"file_path": path, "old_string": old, "new_string": new}, writer.numbered(size)
    if name == "Grep":
        found = "\n".join(
            f"{path}:{draw.randrange(1, 900)}:{line}"
            for line in writer.lines(writer.code, size // 2).split("\n")
        )
        return {"pattern": writer.name(), "path": "/repo", "output_mode": "content"}, found
    if name == "Glob":
        return {"pattern": f"**/{draw.choice(_PARTS)}*"}, "\n".join(
            writer.path() for _ in range(max(1, size // 36))
        )
    if name == "WebFetch":
        page = "\n\n".join(writer.text(6) for _ in range(max(1, size // 480)))
        return {"url": f"https://docs.example.org/{draw.choice(_PARTS)}", "prompt": writer.text(1)}, page
    pool = writer.log if draw.random() < 0.7 else writer.data
    program = draw.choice(("pytest -q", "npm test --", "git log -p", "cat"))
    command = f"cd /repo && {program} {path} 2>&1 | tail -{size // 60 + 1}"
    return {"command": command, "description": f"Check {writer.name()}"}, writer.lines(pool, size)


def _main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else 2_000
    seed = int(arguments[1]) if len(arguments) > 1 else 7
    characters = size = large = 0
    for message in messages(count, seed):
        content = message["content"]
        texts = [content] if isinstance(content, str) else []
        for block in () if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                texts += [str(value) for value in block["input"].values()]
            else:
                texts.append(block.get("text") or block.get("content"))
        characters += sum(map(len, texts))
        size += sum(len(text.encode()) for text in texts)
        large += max(map(len, texts)) > LARGE
    print(
        f"{count} messages, {characters:,} characters, {size:,} bytes of text, "
        f"{large} with a result over {LARGE:,} characters"
    )


if __name__ == "__main__":
    _main(sys.argv[1:])
