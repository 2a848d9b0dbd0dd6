"""What a host plugs in can be a port, or is refused where the engine is made; and it is used, whatever else it is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.session.packs import engine_of
from tests.test_answers import Writer

from trimtab import Facts, Request
from trimtab.store import MemoryStore


class HalfAStore:
    """Can neither be asked for a path nor read."""

    def put(self, name: str, text: str) -> str:
        return name


@pytest.mark.parametrize(
    ("keyword", "given", "words"),
    [
        ("summarizer", "claude-haiku-4-5", "summarizer is str; it must have answer and aanswer"),
        ("summarizer", Writer, "summarizer is the class Writer; it must be an object of it"),
        ("summarizer", lambda question: "x", "summarizer is function; it must have answer"),
        ("store", "/var/store", "store is str; it must have put and place and get and has"),
        ("store", HalfAStore(), "store is HalfAStore; it must have put and place"),
        ("files", "/", "files is str; it must have read"),
        ("hooks", "notify", "hooks is str; it must be a function"),
        ("redactor", 5, "redactor is int; it must have redact"),
        ("counter", 5, "counter is 5; it must have a name, count and count_many"),
        ("counter", None, "counter is None; it must have a name"),
        ("profile", "anthropic", "profile is 'anthropic'; it must be a trimtab.validity.Profile"),
        ("thinking", None, "thinking is None; it may be strip or drop_block"),
    ],
)
def test_what_can_be_no_port_is_refused_where_the_engine_is_made(
    keyword: str, given: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        engine_of(**{keyword: given})


class Listed(MemoryStore):
    """A store whose length is the number of its texts: an empty one is false."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __len__(self) -> int:
        return len(self.names)

    def put(self, name: str, text: str) -> str:
        self.names.append(name)
        return super().put(name, text)


def test_a_store_that_is_empty_as_yet_is_the_one_that_is_used() -> None:
    store = Listed()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "word " * 200}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    engine_of(store=store).session().run(
        Request("claude-sonnet-4-5", messages), facts=Facts(now=1e9, caller="main")
    )
    assert [store.get(name) for name in store.names] == ["word " * 200]
