"""Secrets in whatever form: none reaches the writer of a summary, none comes back, and the receipt has their number."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from tests.faults.support import (
    GOOD,
    Message,
    asked,
    assistant,
    call,
    engine_of,
    result,
    rounds,
    run,
    text,
    user,
    verdict,
    words,
    writes,
)

from trimtab.summarizers.canned import CannedSummarizer

FAKE = "Fake5ecret0fATest"
TOKEN = "gh" + "p_" + "FakeTokenOfATest0123456789FakeTokenOf"
LINE = "MIIFakeKeyOfATest0123456789FakeKeyOfATest0123456789FakeKeyOfATest"
NAME = "PRIVATE " + "KEY"
PEM = (
    f"-----BEGIN RSA {NAME}-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,FAKE-00\n\n"
    + f"{LINE}\n" * 6
    + f"Fak3Short+w==\n-----END RSA {NAME}-----"
)
PGP = (
    f"-----BEGIN PGP {NAME} BLOCK-----\nVersion: Fake - 1\nComment: of a test\n\n"
    + f"{LINE}\n" * 6
    + f"=F4ke\n-----END PGP {NAME} BLOCK-----"
)
PIECES = (FAKE, TOKEN[4:16], TOKEN[-12:], "FakeKeyOfATest", "Fak3Short", "=F4ke", "hunter2")
"""What no writer may see of them."""


class Form(NamedTuple):
    """A way in which so many secrets stand in a tool's ``input`` and in the blocks of its ``result``."""

    places: int
    input: Any = None
    result: tuple[str, ...] = ("ok",)


INPUTS = {
    "a password in a field": Form(1, {"password": FAKE}),
    "a short password in a field": Form(1, {"password": "hunter2"}),
    "a header in a field": Form(1, {"headers": {"Authorization": f"Bearer {FAKE}"}}),
    "a header as name and value": Form(
        1, {"headers": [{"name": "Authorization", "value": f"Bearer {FAKE}"}]}
    ),
    "keys in a list": Form(2, {"api_key": [FAKE, f"{FAKE}2"]}),
    "fields below a telling one": Form(1, {"credentials": {"main": FAKE}}),
    "a token as the name of a field": Form(1, {"users": {TOKEN: "admin"}}),
    "json in a text": Form(1, {"body": '{"password": "' + FAKE + '"}'}),
    "json in json in a text": Form(1, {"body": r'{"body": "{\"password\": \"' + FAKE + r'\"}"}'}),
    "a command": Form(1, {"command": f"curl -H 'Authorization: Bearer {FAKE}' https://example.org"}),
}
TEXTS = {
    "json": '{"password": "@"}',
    "a header in capitals": "AUTHORIZATION: Bearer @",
    "a header without a blank": "Authorization:Bearer @",
    "a value in the next line": "password:\n  @\nuser: me",
    "a block of yaml": "password: |\n  @\nuser: me",
    "a list of yaml": "api_keys:\n  - short\n  - @",
    "a password with blanks": "password = 'two words and @'",
    "an address with more than one @": f"postgres://me:p@ss{FAKE}@db.example.org/base",
    "a token with something unseen": f"use {TOKEN[:20]}\u200b{TOKEN[20:]} here",
    "a token with a line end": f"use {TOKEN[:20]}\n{TOKEN[20:]} here",
    "a locked key": PEM,
    "a key of pgp": PGP,
    "a key that was cut off": PEM[: PEM.index("Fak3Short")],
    "the end of a key": PEM[PEM.index("FakeKeyOfATest") :],
}
RESULTS = {
    name: Form(1, result=(text.replace(" @", f" {FAKE}").replace('"@', f'"{FAKE}'),))
    for name, text in TEXTS.items()
}
SPLIT = {
    "a key over two blocks": Form(1, result=(PEM[:300], PEM[300:])),
    "a key over two blocks in its first line": Form(1, result=(PEM[:12], PEM[12:])),
    "a key over three blocks": Form(1, result=(PEM[:100], PEM[100:300], PEM[300:])),
    "a value in the next block": Form(1, result=("The password:", f"{FAKE} is it")),
}


def compacted(messages: list[Message], more: str = "", answer: str = GOOD) -> tuple[Any, str]:
    """The outcome of a run, and all that its writer was told."""
    writer = CannedSummarizer([answer])
    outcome = run(engine_of(writes(more), summarizer=writer), messages)
    assert verdict(outcome, "sum-up") == "committed"
    return outcome, asked(writer.asked[0])


def leaks(shown: str) -> list[str]:
    return [piece for piece in PIECES if piece in shown]


@pytest.mark.parametrize("more", ["", ", input: {as: text}"], ids=["blocks", "text"])
@pytest.mark.parametrize("name", [*INPUTS, *RESULTS, *SPLIT])
def test_a_secret_in_a_call_does_not_reach_the_writer_and_is_counted(name: str, more: str) -> None:
    form = (INPUTS | RESULTS | SPLIT)[name]
    messages = [
        user("Go."),
        assistant(call("a", "Fetch", **(form.input or {"url": "https://example.org"}))),
        user(result("a", [text(one) for one in form.result])),
        *rounds(10, 3000),
    ]
    outcome, shown = compacted(messages, more)
    assert leaks(shown) == []
    assert shown.count("[redacted: ") >= form.places
    assert outcome.receipt.stage("sum-up").remarks["redacted_given"] == form.places


@pytest.mark.parametrize("name", RESULTS)
def test_a_secret_in_the_answer_does_not_reach_the_view_and_is_counted(name: str) -> None:
    form = RESULTS[name]
    outcome, _ = compacted([user("Go."), *rounds(10, 3000)], answer=f"{GOOD}\n\n{form.result[0]}\n\n{GOOD}")
    assert leaks(words(outcome)) == []
    assert words(outcome).count("[redacted: ") == 1
    assert outcome.receipt.stage("sum-up").remarks["redacted_text"] == 1


def test_a_token_over_two_blocks_of_the_user_does_not_reach_the_writer() -> None:
    messages = [
        user(text(f"It is {TOKEN[:20]}"), text(f"{TOKEN[20:]} as one word.")),
        *rounds(10, 3000),
        user("Now go on."),
        *rounds(3, 3000, 90),
    ]
    outcome, shown = compacted(messages)
    assert leaks(shown) == []
    assert outcome.receipt.stage("sum-up").remarks["redacted_given"] == 1


def test_two_names_of_fields_that_become_one_keep_both_values() -> None:
    users = {TOKEN: "first", TOKEN.replace("Fake", "Fike"): "second"}
    messages = [
        user("Go."),
        assistant(call("a", "Fetch", users=users)),
        user(result("a", "ok")),
        *rounds(10, 3000),
    ]
    outcome, shown = compacted(messages)
    assert leaks(shown) == []
    assert "first" in shown
    assert "second" in shown
    assert outcome.receipt.stage("sum-up").remarks["redacted_given"] == 2


def test_what_nobody_looks_at_is_left_out_and_counted() -> None:
    deep: Any = {"password": FAKE}
    for _ in range(80):
        deep = {"in": deep}
    messages = [
        user("Go."),
        assistant(call("a", "Fetch", deep=deep)),
        user(result("a", "ok")),
        *rounds(10, 3000),
    ]
    outcome, shown = compacted(messages)
    assert leaks(shown) == []
    assert "[redacted: nested too deep]" in shown
    assert outcome.receipt.stage("sum-up").remarks["redacted_given"] == 1


@pytest.mark.parametrize(
    "words_of_code",
    [
        "password: str = field()",
        "headers = {'Authorization': f'Bearer {token_1}'}",
        "PASSWORD=${DB_PASSWORD_2}",
        "Enter a password of at least 8 characters",
        "commit 4f2a9c1d2e3b4a5c6d7e8f9a0b1c2d3e4f5a6b7c",
    ],
)
def test_code_and_words_reach_the_writer_as_they_are(words_of_code: str) -> None:
    messages = [
        user("Go."),
        assistant(call("a", "Write", content=words_of_code, password="$PASSWORD")),
        user(result("a", words_of_code)),
        *rounds(10, 3000),
    ]
    outcome, shown = compacted(messages)
    assert shown.count(words_of_code) == 2
    assert "redacted_given" not in outcome.receipt.stage("sum-up").remarks
