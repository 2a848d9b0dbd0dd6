from __future__ import annotations

from itertools import pairwise
from typing import Any

from bench.conversation import LARGE, conversation

from trimtab.tokens import make


def test_the_reference_conversation_has_the_size_it_is_named_for() -> None:
    made = conversation()
    texts: list[str] = []
    large = 0
    for message in made:
        content: Any = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_use":
                texts += block["input"].values()
            else:
                texts.append(block.get("text") or block["content"])
        large += not isinstance(content, str) and any(len(b.get("content", "")) > LARGE for b in content)
    assert len(made) == 2_000
    assert 4.2e6 < sum(map(len, texts)) < 4.8e6
    assert 1.15e6 < sum(make("toktok").count_many(texts)) < 1.3e6
    assert 160 < large < 240


def test_the_reference_conversation_is_the_same_every_time_and_pairs_its_calls() -> None:
    made = conversation(301, seed=3)
    assert made == conversation(301, seed=3)
    assert made != conversation(301, seed=4)
    assert len(made) == 301
    assert made[0]["role"] == "user"
    for message, answer in pairwise(made):
        calls = [
            block["id"]
            for block in message["content"]
            if isinstance(block, dict) and block["type"] == "tool_use"
        ]
        if calls:
            assert calls == [block["tool_use_id"] for block in answer["content"]]
    assert all(one["role"] != other["role"] for one, other in pairwise(made))
