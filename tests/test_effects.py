"""The wrappers and the two drivers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from trimtab.effects import (
    Ask,
    AskFailed,
    Core,
    Effect,
    EffectFailed,
    Get,
    Put,
    Question,
    Reply,
    Wait,
    adrive,
    ask,
    drive,
    get,
    hook,
    put,
    read,
    wait,
)

Drive = Callable[[Core[Any], Callable[[Effect], Any]], Any]


def drive_async(core: Core[Any], perform: Callable[[Effect], Any]) -> Any:
    async def aperform(effect: Effect) -> Any:
        await asyncio.sleep(0)
        return perform(effect)

    return asyncio.run(adrive(core, aperform))


both = pytest.mark.parametrize("run", [drive, drive_async])


def question(timeout: float | None = None) -> Question:
    return Question("sum it up", "a-model", timeout=timeout)


@both
def test_each_effect_gets_its_reply_in_order(run: Drive) -> None:
    seen: list[Effect] = []

    def core() -> Core[tuple[Any, ...]]:
        place = yield from put("a/b", "text")
        text = yield from get("a/b")
        reply = yield from ask(question(), "notes", 99)
        file = yield from read("/x", 10)
        said = yield from hook("before_summary", "stage")
        job = yield from wait("stage", 0.0)
        return place, text, reply.text, file, said, job

    def perform(effect: Effect) -> Any:
        seen.append(effect)
        return Reply("words") if isinstance(effect, Ask) else type(effect).__name__

    assert run(core(), perform) == ("Put", "Get", "words", "Read", "Hook", "Wait")
    assert seen[:3] == [Put("a/b", "text"), Get("a/b"), Ask(question(), "notes", 99)]


@both
def test_a_core_without_effects_is_only_run(run: Drive) -> None:
    def core(effects: tuple[Effect, ...] = ()) -> Core[int]:
        yield from effects
        return 3

    assert run(core(), lambda effect: pytest.fail("nothing to perform")) == 3


@both
def test_a_failing_port_is_an_effect_failed_in_the_core(run: Drive) -> None:
    def core() -> Core[str]:
        with pytest.raises(EffectFailed) as caught:
            yield from put("a/b", "text")
        failure = caught.value
        assert isinstance(failure.effect, Put)
        assert isinstance(failure.problem, OSError)
        return f"{failure.reason}: {failure}"

    def perform(effect: Effect) -> Any:
        raise OSError("disk full")

    assert run(core(), perform) == "error: disk full"


@both
def test_a_summarizer_says_why_it_failed(run: Drive) -> None:
    def core() -> Core[tuple[str, int | None, bool]]:
        try:
            yield from ask(question())
        except EffectFailed as failure:
            return failure.reason, failure.excess_tokens, failure.transient
        raise AssertionError

    def perform(effect: Effect) -> Any:
        raise AskFailed("too_long", "prompt is too long", 1200)

    assert run(core(), perform) == ("too_long", 1200, False)


@both
def test_a_failure_the_core_lets_pass_reaches_the_caller(run: Drive) -> None:
    def perform(effect: Effect) -> Any:
        raise OSError("no")

    with pytest.raises(EffectFailed, match="no"):
        run(get("a/b"), perform)


@both
def test_an_interrupt_ends_the_run_and_closes_the_core(run: Drive) -> None:
    closed: list[bool] = []

    def core() -> Core[None]:
        try:
            yield Get("a/b")
        finally:
            closed.append(True)

    class Interrupt(BaseException):
        pass

    def perform(effect: Effect) -> Any:
        raise Interrupt

    running = core()  # held, so that only closing can end it
    with pytest.raises(Interrupt):
        run(running, perform)
    assert closed == [True]


def test_an_interrupt_in_the_worker_of_a_timed_question_ends_the_run_too() -> None:
    class Interrupt(BaseException):
        pass

    def perform(effect: Effect) -> Any:
        raise Interrupt

    with pytest.raises(Interrupt):
        drive(ask(question(timeout=5)), perform)


def late(core: Core[Any]) -> Core[tuple[str, str, bool]]:
    try:
        yield from core
    except EffectFailed as failure:
        return failure.reason, str(failure), failure.transient
    raise AssertionError("it was not late")


def test_a_sync_question_is_given_up_after_its_timeout() -> None:
    release = threading.Event()

    def perform(effect: Effect) -> Any:
        release.wait(10)
        return Reply("late")

    begin = time.perf_counter()
    assert drive(late(ask(question(timeout=0.05))), perform) == ("error", "no answer within 0.05 s", True)
    assert time.perf_counter() - begin < 5
    release.set()


def test_an_async_question_is_given_up_after_its_timeout_and_its_port_is_cancelled() -> None:
    ended: list[str] = []

    async def perform(effect: Effect) -> Any:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    outcome = asyncio.run(adrive(late(ask(question(timeout=0.02))), perform))
    assert outcome == ("error", "no answer within 0.02 s", True)
    assert ended == ["cancelled"]


def test_a_timeout_of_the_ports_own_keeps_its_words() -> None:
    async def perform(effect: Effect) -> Any:
        raise TimeoutError("the socket was silent")

    assert asyncio.run(adrive(late(ask(question(timeout=5))), perform))[1] == "the socket was silent"


def test_waiting_for_a_job_is_not_timed_by_the_driver() -> None:
    here = threading.current_thread()

    def perform(effect: Effect) -> Any:
        assert isinstance(effect, Wait)
        assert threading.current_thread() is here

    assert drive(wait("job", 0.0), perform) is None


def test_cancelling_an_async_run_closes_its_core() -> None:
    closed: list[bool] = []

    def core() -> Core[None]:
        try:
            yield from ask(question())
        finally:
            closed.append(True)

    async def perform(effect: Effect) -> Any:
        await asyncio.sleep(10)

    async def main() -> None:
        task = asyncio.ensure_future(adrive(core(), perform))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert closed == [True]


def test_both_drivers_take_the_same_way() -> None:
    def core() -> Core[list[str]]:
        said: list[str] = []
        for number in range(5):
            try:
                said.append((yield from get(f"a/{number}")) or "")
            except EffectFailed as failure:
                said.append(failure.reason)
        return said

    def perform(effect: Effect) -> Any:
        if isinstance(effect, Get) and effect.name == "a/2":
            raise KeyError("no")
        return effect.name if isinstance(effect, Get) else None

    assert drive(core(), perform) == drive_async(core(), perform) == ["a/0", "a/1", "error", "a/3", "a/4"]


def test_a_failure_needs_a_known_reason() -> None:
    with pytest.raises(ValueError, match="unknown failure reason 'tired'"):
        AskFailed("tired", "no")
