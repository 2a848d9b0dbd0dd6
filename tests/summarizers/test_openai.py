"""The OpenAI-compatible summarizer: the real SDK against an endpoint on a socket."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.faults.support import loop, shown
from tests.session.packs import engine_of
from tests.summarizers.chat_server import USAGE, Chat, ChatServer, Fault
from tests.wire.agent import SUMMARY
from tests.wire.summing import NINE, calls, compact, pack, problems, report

from trimtab.conversation.request import Request, Usage
from trimtab.effects import AskFailed, Question, Reply
from trimtab.summarizers import parse
from trimtab.summarizers.openai import OpenAISummarizer

openai = pytest.importorskip("openai", reason="the extra `openai` is not installed")

GOOD = Chat(["the ", "summary"], usage=USAGE)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("trimtab.ports.sleep", lambda seconds: None)


@contextmanager
def asking(*answers: Chat | Fault) -> Iterator[tuple[OpenAISummarizer, ChatServer]]:
    """The summarizer as a command line names it, and the endpoint it asks."""
    with ChatServer(*answers) as server:
        writer = parse(f"openai:small@{server.url}")
        assert isinstance(writer, OpenAISummarizer)
        yield writer, server
        if writer._client is not None:
            writer._client.close()


def failing(answer: Chat | Fault, question: Question | None = None) -> AskFailed:
    with asking(answer) as (writer, _), pytest.raises(AskFailed) as caught:
        writer.answer(question or Question("p", "m"))
    return caught.value


def test_a_text_question_is_one_message_behind_the_system_prompt() -> None:
    with asking(GOOD) as (writer, server):
        reply = writer.answer(Question("sum it up", "m", system="be brief", max_output=99, effort="low"))
    assert reply == Reply(
        "the summary", "end_turn", Usage(100, output=7, model="served-model"), model="served-model"
    )
    assert server.bodies == [
        {
            "model": "small",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "sum it up"}],
            "max_tokens": 99,
            "reasoning_effort": "low",
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


def test_a_native_question_goes_as_one_text_without_tools() -> None:
    request = Request("m", loop(1), system="you are", tools=[{"name": "Read"}])
    with asking(GOOD) as (writer, server):
        writer.answer(Question("sum it up", "m", request=request))
    [message] = server.bodies[0]["messages"]
    assert message["role"] == "user"
    for there in ("you are", "Find the leak", "Read", "line 0 of the output", "sum it up"):
        assert there in message["content"]
    assert "tools" not in server.bodies[0]


def test_what_came_from_the_cache_is_counted_apart() -> None:
    usage = {**USAGE, "prompt_tokens_details": {"cached_tokens": 60}}
    with asking(Chat(["x"], usage=usage)) as (writer, _):
        assert writer.answer(Question("p", "m")).usage == Usage(40, 60, output=7, model="served-model")


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        (Chat(["half"], finish="length"), "max_tokens"),
        (Chat([], finish="tool_calls"), "tool_use"),
        (Chat([], finish="content_filter"), "refusal"),
        (Chat([], deltas=[{"refusal": "I will not."}]), "refusal"),
        (Chat(["odd"], finish="strange"), "strange"),
    ],
)
def test_the_finish_reason_is_reported_in_the_engines_words(answer: Chat, stop: str) -> None:
    with asking(answer) as (writer, _):
        assert writer.answer(Question("p", "m")).stop == stop


TOO_LONG = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
)


@pytest.mark.parametrize(
    ("answer", "reason", "excess", "transient"),
    [
        (
            Fault(400, {"error": {"message": TOO_LONG, "code": "context_length_exceeded"}}),
            "too_long",
            808,
            False,
        ),
        (
            Fault(400, {"error": {"message": "too much", "code": "context_length_exceeded"}}),
            "too_long",
            None,
            False,
        ),
        (
            Fault(
                400,
                {
                    "error": {
                        "message": "the request exceeds the available context size",
                        "type": "exceed_context_size_error",
                        "n_prompt_tokens": 5000,
                        "n_ctx": 4096,
                    }
                },
            ),
            "too_long",
            904,
            False,
        ),
        (Fault(413, {"error": {"message": "body too large"}}), "too_long", None, False),
        (Fault(404, {"error": {"message": "no such model"}}), "unavailable", None, False),
        (Fault(401, {"error": {"message": "bad key"}}), "error", None, False),
        (Fault(429, {"error": {"message": "slow down"}}), "error", None, True),
        (
            Fault(429, {"error": {"message": "no money", "code": "insufficient_quota"}}),
            "error",
            None,
            False,
        ),
        (Fault(400, {"error": {"message": "no", "code": "content_filter"}}), "refusal", None, False),
        (Fault(503, {"error": {"message": "loading"}}), "error", None, True),
        (Fault(502), "error", None, True),
        (Chat(["half"], finish=None), "error", None, True),
        (Chat(["half"], error={"message": "the server has fallen over"}), "error", None, True),
    ],
)
def test_errors_become_reasons(
    answer: Chat | Fault, reason: str, excess: int | None, transient: bool
) -> None:
    failure = failing(answer)
    assert (failure.reason, failure.excess_tokens, failure.transient) == (reason, excess, transient)


def test_when_to_come_back_is_passed_on() -> None:
    assert failing(Fault(429, headers={"retry-after": "7"})).retry_after == 7.0


def test_a_page_that_is_no_stream_is_a_passing_error() -> None:
    failure = failing(Fault(200, {"hello": "there"}))
    assert (failure.reason, failure.transient) == ("error", True)


def test_nobody_there_is_a_passing_error() -> None:
    writer = OpenAISummarizer.named("small@http://127.0.0.1:9/v1")
    with pytest.raises(AskFailed, match="could not be reached") as caught:
        writer.answer(Question("p", "m", timeout=5))
    assert caught.value.transient
    assert writer._client is not None
    writer._client.close()


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    failure = failing(Chat(["word "] * 20, pause=0.1), Question("p", "m", timeout=0.25))
    assert (failure.reason, failure.transient) == ("error", True)
    assert "within 0.25 s" in failure.message


def test_without_a_key_the_vendors_endpoint_is_unavailable_and_ones_own_is_asked() -> None:
    with pytest.raises(AskFailed, match="OPENAI_API_KEY") as caught:
        OpenAISummarizer().answer(Question("p", "m"))
    assert caught.value.reason == "unavailable"
    with asking(GOOD) as (writer, server):
        writer.answer(Question("p", "m"))
    assert server.headers[0]["authorization"] == "Bearer none"


def test_whether_it_can_work_is_known_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "OPENAI_API_KEY" in str(OpenAISummarizer().doubtful())
    with asking() as (writer, _):
        assert (writer.unusable(), writer.doubtful()) == (None, None)
    monkeypatch.setattr("trimtab.summarizers.openai.find_spec", lambda name: None)
    assert "pip install" in str(OpenAISummarizer().unusable())
    client: Any = object()
    for given in (OpenAISummarizer(client), OpenAISummarizer(async_client=client)):
        assert (given.unusable(), given.doubtful()) == (None, None)


def test_the_apis_own_compaction_is_not_its() -> None:
    with asking() as (writer, server), pytest.raises(AskFailed) as caught:
        writer.answer(Question("", "m", Request("m", loop(1)), compacts=True))
    assert caught.value.reason == "unavailable"
    assert server.bodies == []


@pytest.mark.parametrize(
    ("spec", "model", "url"),
    [
        ("small", "small", None),
        ("small@http://localhost:8080/v1", "small", "http://localhost:8080/v1"),
        ("maker/small@rev2@https://there.example/v1", "maker/small@rev2", "https://there.example/v1"),
        ("@http://localhost:8080/v1", None, "http://localhost:8080/v1"),
    ],
)
def test_a_model_and_an_endpoint_are_named_together(spec: str, model: str | None, url: str | None) -> None:
    writer = OpenAISummarizer.named(spec)
    assert (writer._model, writer._url) == (model, url)


@pytest.mark.parametrize("spec", ["@", " ", "small@http://a b"])
def test_what_names_nothing_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="openai:MODEL"):
        OpenAISummarizer.named(spec)


def test_an_async_run_asks_the_async_client_and_maps_errors_too() -> None:
    async def run(server: ChatServer) -> list[Any]:
        async with openai.AsyncOpenAI(api_key="none", base_url=server.url, max_retries=3) as client:
            writer = OpenAISummarizer(async_client=client, model="small")
            found: list[Any] = [await writer.aanswer(Question("p", "m"))]
            try:
                await writer.aanswer(Question("p", "m"))
            except AskFailed as problem:
                found.append(problem)
            return found

    with ChatServer(GOOD, Fault(503)) as server:
        reply, failure = asyncio.run(run(server))
    assert reply.text == "the summary"
    assert failure.transient
    assert len(server.bodies) == 2


def test_a_stage_tries_again_accounts_for_it_and_takes_only_what_passes_the_gate() -> None:
    with asking(Fault(503), Chat(["no tags"], usage=USAGE), Chat([SUMMARY], usage=USAGE)) as (writer, server):
        ready = engine_of(pack(f"{NINE}, model: [same, other]"), summarizer=writer)
        outcome = compact(ready, loop(12, 3000))
    assert problems(outcome) == ["error", "invalid", None]
    assert report(outcome).verdict == "committed"
    assert [one.cost for one in calls(outcome)] == [None, None, None], (
        "nobody knows the prices of `served-model`"
    )
    assert len(server.bodies) == 3


def test_a_stage_leaves_all_as_it_was_where_the_endpoint_cannot() -> None:
    messages = loop(12, 3000)
    with asking(*[Fault(503)] * 3) as (writer, _):
        outcome = compact(engine_of(pack(), summarizer=writer), messages)
    assert report(outcome).verdict == "failed"
    assert shown(outcome) == messages


def test_naming_it_imports_no_sdk() -> None:
    program = (
        "import sys; from trimtab.summarizers import parse; parse('openai:small@http://localhost:1/v1'); "
        "sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0


def test_half_a_character_is_replaced() -> None:
    with asking(Chat(["so \ud800 far"])) as (writer, _):
        assert writer.answer(Question("p", "m")).text == "so \ufffd far"
