"""Any program as a summarizer."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenes import unfenced

from trimtab.conversation.request import Request
from trimtab.effects import AskFailed, Question, Reply
from trimtab.summarizers import command as module
from trimtab.summarizers.command import CommandSummarizer

Answer = Callable[[CommandSummarizer, Question], Reply]


def sync(summarizer: CommandSummarizer, question: Question) -> Reply:
    return summarizer.answer(question)


def in_a_loop(summarizer: CommandSummarizer, question: Question) -> Reply:
    return asyncio.run(summarizer.aanswer(question))


both = pytest.mark.parametrize("answer", [sync, in_a_loop])


def program(text: str) -> CommandSummarizer:
    return CommandSummarizer([sys.executable, "-c", text])


def gone(pid: int) -> bool:
    """Whether the process has ended (an orphan may stay a zombie until it is reaped)."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@both
def test_the_prompt_goes_in_and_the_summary_comes_out(answer: Answer) -> None:
    upper = program("import sys; print(sys.stdin.read().upper())")
    assert answer(upper, Question("größe \ud83d", "m", system="hi")) == Reply("HI\n\nGRÖSSE ?", model="m")


@both
def test_a_native_question_is_given_as_text(answer: Answer) -> None:
    echo = program("import sys; sys.stdout.write(sys.stdin.read())")
    request = Request("m", [{"role": "user", "content": "fix it"}])
    text = answer(echo, Question("sum it up", "m", request=request)).text
    assert unfenced(text) == "User:\nfix it\nsum it up"


@both
def test_more_than_a_pipe_holds_goes_through(answer: Answer) -> None:
    count = program("import sys; data = sys.stdin.read(); print('x' * 300_000); print(len(data))")
    text = answer(count, Question("y" * 500_000, "m")).text
    assert text == "x" * 300_000 + "\n500000"


@both
def test_a_program_that_reads_nothing_may_answer(answer: Answer) -> None:
    assert answer(program("print('done')"), Question("y" * 500_000, "m")).text == "done"


def test_the_program_is_told_the_model_and_the_size() -> None:
    told = program("import os; print(os.environ['TRIMTAB_MODEL'], os.environ.get('TRIMTAB_MAX_OUTPUT'))")
    assert told.answer(Question("p", "fast", max_output=500)).text == "fast 500"
    assert told.answer(Question("p", "fast")).text == "fast None"


@both
def test_a_failing_program_fails_with_its_last_words(answer: Answer) -> None:
    bad = program("import sys; sys.stderr.write('x' * 9000 + ' no such key'); sys.exit(3)")
    with pytest.raises(AskFailed, match=r"ended with exit code 3: x.*no such key") as caught:
        answer(bad, Question("p", "m"))
    assert caught.value.reason == "error"
    assert len(str(caught.value)) < 700


@both
def test_a_program_ended_by_a_signal_says_so(answer: Answer) -> None:
    with pytest.raises(AskFailed, match="was ended by signal 9"):
        answer(program("import os; os.kill(os.getpid(), 9)"), Question("p", "m"))


@both
def test_a_missing_program_is_unavailable(answer: Answer) -> None:
    with pytest.raises(AskFailed, match="cannot be started") as caught:
        answer(CommandSummarizer("no-such-program-anywhere --now"), Question("p", "m"))
    assert caught.value.reason == "unavailable"


@both
def test_an_empty_answer_is_for_the_gate_to_refuse(answer: Answer) -> None:
    assert answer(program("pass"), Question("p", "m")).text == ""


CHILDREN = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[1] + ".part", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.replace(sys.argv[1] + ".part", sys.argv[1])
time.sleep(60)
"""


@both
def test_a_timeout_kills_the_program_and_its_children(answer: Answer, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    slow = CommandSummarizer([sys.executable, "-c", CHILDREN, str(pids)])
    with pytest.raises(AskFailed, match="no answer within 1 s") as caught:
        answer(slow, Question("p", "m", timeout=1))
    assert (caught.value.reason, caught.value.transient) == ("error", True)
    assert [gone(int(pid)) for pid in pids.read_text().split()] == [True, True]


def test_cancelling_kills_the_program_and_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    slow = CommandSummarizer([sys.executable, "-c", CHILDREN, str(pids)])

    async def main() -> None:
        task = asyncio.ensure_future(slow.aanswer(Question("p", "m")))
        while not pids.exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [gone(int(pid)) for pid in pids.read_text().split()] == [True, True]


def test_a_text_is_split_as_a_shell_would_but_given_to_none() -> None:
    assert CommandSummarizer("llm -m 'a model' $HOME").command == ["llm", "-m", "a model", "$HOME"]
    assert CommandSummarizer("echo $HOME; echo x").answer(Question("p", "m")).text == "$HOME; echo x"


@pytest.mark.parametrize("command", ["", "  ", []])
def test_an_empty_command_is_refused(command: str | list[str]) -> None:
    with pytest.raises(ValueError, match="command is empty"):
        CommandSummarizer(command)


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        program("print(1)").answer(Question("p", "m"))
    assert len(os.listdir("/proc/self/fd")) == before


@both
def test_a_program_has_ten_minutes_where_the_stage_says_nothing(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.TIMEOUT == 600
    monkeypatch.setattr(module, "TIMEOUT", 0.3)
    with pytest.raises(AskFailed, match=r"no answer within 0\.3 s"):
        answer(program("import time; time.sleep(60)"), Question("p", "m"))


@both
def test_a_program_that_writes_without_end_is_stopped(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_OUTPUT", 500_000)
    endless = program("while True: print('x' * 10_000)")
    with pytest.raises(AskFailed, match="wrote more than 500,000 bytes") as caught:
        answer(endless, Question("p", "m", timeout=20))
    assert (caught.value.reason, caught.value.transient) == ("error", False)


def test_a_program_that_is_not_there_or_not_executable_is_known_before_it_is_asked(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo", encoding="ascii")
    found = {
        name: CommandSummarizer([name]).unusable()
        for name in ("sh", "no-such-program", str(plain), str(tmp_path / "none"))
    }
    assert found["sh"] is None
    assert "not found on the PATH" in str(found["no-such-program"])
    assert "not executable" in str(found[str(plain)])
    assert "not found there" in str(found[str(tmp_path / "none")])
