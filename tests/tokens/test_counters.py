from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trimtab.conversation.request import Request
from trimtab.tokens import COUNTERS, Counter, CounterError, EstimateCounter, RequestCounter, estimate, make
from trimtab.tokens import counters as module
from trimtab.tokens.counters import BLANK_RUN, TiktokenCounter, ToktokCounter, without_surrogates

TEXTS = ["", "hello world", "hello world", "<|endoftext|>", "缓存窗口", "\ud800 lone", "x" * 5_000]


class Encoding:
    """Stands in for tiktoken's: one token a character, a panic on long runs of blanks."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode_ordinary(self, text: str) -> list[int]:
        self.seen.append(text)
        if " " * (BLANK_RUN + 1) in text or text == "panic":
            raise PanicException
        return [0] * len(text)


class PanicException(BaseException):
    """The name a panic inside the Rust library has."""


def counters() -> list[Counter]:
    return [EstimateCounter(), ToktokCounter(), TiktokenCounter(Encoding())]


@pytest.mark.parametrize("counter", counters(), ids=lambda counter: counter.name)
def test_many_texts_count_as_each_alone(counter: Counter) -> None:
    assert isinstance(counter, Counter)
    together = counter.count_many(TEXTS)
    assert together == [counter.count(text) for text in TEXTS]
    assert together[0] == 0
    assert min(together[1:]) >= 1


def test_the_registry_makes_what_it_names() -> None:
    assert set(COUNTERS) == {"estimate", "tiktoken", "toktok"}
    assert make("estimate").name == "estimate"
    assert make("toktok").name == "toktok"


def test_an_unknown_counter_is_refused_with_the_known_names() -> None:
    with pytest.raises(CounterError, match="estimate, tiktoken, toktok, anthropic"):
        make("chars")


def test_the_real_tokenizer_gives_known_counts() -> None:
    counter = make("toktok")
    assert counter.count("hello world") == 2
    assert counter.count("<|endoftext|>") == 7


def test_lone_surrogates_count_as_replacement_characters() -> None:
    counter = make("toktok")
    assert counter.count("a\ud800b") == counter.count("a\ufffdb")
    assert without_surrogates("\ud83d\ude00") == "😀"


def test_texts_are_tokenized_once() -> None:
    encoding = Encoding()
    counter = TiktokenCounter(encoding)
    counter.count_many(["one", "two", "one"])
    counter.count("two")
    assert encoding.seen == ["one", "two"]


def test_the_cache_is_bounded() -> None:
    counter = TiktokenCounter(Encoding(), entries=10, characters=1_000)
    for number in range(200):
        assert counter.count(f"text {number:04}") == 9
    assert counter.count("y" * 5_000) == 5_000
    assert len(counter._cache.counts) <= 10
    assert counter._cache.held == sum(map(len, counter._cache.counts))


def test_a_long_run_of_blanks_is_cut_for_tiktoken_and_nothing_is_lost() -> None:
    encoding = Encoding()
    text = "start" + " " * (BLANK_RUN * 3 + 7) + "end" + "\n" * 10
    assert TiktokenCounter(encoding).count(text) == len(text)
    assert "".join(encoding.seen) == text
    assert len(encoding.seen) == 4


def test_a_panic_becomes_an_error_that_says_what_to_use() -> None:
    with pytest.raises(CounterError, match="'toktok' or 'estimate'"):
        TiktokenCounter(Encoding()).count("panic")


def test_an_interrupt_is_not_taken_for_a_panic() -> None:
    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TiktokenCounter(SimpleNamespace(encode_ordinary=interrupted)).count("a")


def test_a_missing_vocabulary_is_an_error_before_any_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(CounterError, match=r"TIKTOKEN_CACHE_DIR.*toktok"):
        make("tiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(CounterError, match="switched off"):
        make("tiktoken")


def test_a_damaged_vocabulary_is_refused_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    file = tmp_path / module.VOCABULARY_FILE
    file.write_bytes(b"not a vocabulary")
    with pytest.raises(CounterError, match="SHA-256"):
        make("tiktoken")
    assert file.read_bytes() == b"not a vocabulary"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)
    with pytest.raises(CounterError, match=r"trimtab\[fast\]"):
        make("toktok")


class Messages:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def count_tokens(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return self.answer


def client(answer: Any) -> Any:
    return SimpleNamespace(messages=Messages(answer))


REQUEST = Request(
    model="claude-opus-5",
    messages=({"role": "user", "content": "hi"},),
    system="Be brief.",
    tools=({"name": "Read", "input_schema": {}},),
    extra={"max_tokens": 100, "thinking": {"type": "adaptive"}, "tool_choice": None},
)


def test_the_api_counts_a_request_with_the_fields_it_takes() -> None:
    asked = client(SimpleNamespace(input_tokens=321))
    counter = RequestCounter(asked)
    assert counter.count_request(REQUEST) == 321
    assert asked.messages.asked == [
        {
            "model": "claude-opus-5",
            "messages": [{"role": "user", "content": "hi"}],
            "system": "Be brief.",
            "tools": [{"name": "Read", "input_schema": {}}],
            "thinking": {"type": "adaptive"},
        }
    ]
    assert counter.count_many(["hello there"]) == [estimate("hello there")]


def test_an_asynchronous_client_is_awaited_or_refused() -> None:
    async def answer() -> dict[str, int]:
        return {"input_tokens": 12}

    assert asyncio.run(RequestCounter(client(answer())).acount_request(REQUEST)) == 12
    with pytest.raises(CounterError, match="acount_request"):
        RequestCounter(client(answer())).count_request(REQUEST)


def test_what_the_api_cannot_count_is_refused() -> None:
    with pytest.raises(CounterError, match="openai-chat"):
        RequestCounter(client(None)).count_request(Request("gpt-5", [], format="openai-chat"))
    with pytest.raises(CounterError, match="without input_tokens"):
        RequestCounter(client({})).count_request(REQUEST)
    with pytest.raises(CounterError, match="needs a client"):
        make("anthropic")


def test_importing_the_package_loads_no_tokenizer_and_no_client() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])}
    code = (
        "import sys, trimtab.tokens; "
        "print([name for name in ('tiktoken', 'toktok', 'anthropic', 'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"
