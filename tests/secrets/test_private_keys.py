"""Private keys are found whole, cut off and spread over neighbouring texts; words about them are not."""

from __future__ import annotations

import json

import pytest

from trimtab.redaction import PatternRedactor

NAME = "PRIVATE " + "KEY"
BODY = (
    "\n".join(["MIIFakeKeyOfATest0123456789FakeKeyOfATest0123456789FakeKeyOfATest"] * 4) + "\nFak3Short+w=="
)
PLAIN = f"-----BEGIN {NAME}-----\n{BODY}\n-----END {NAME}-----"
LOCKED = (
    f"-----BEGIN RSA {NAME}-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,FAKE-00\n\n{BODY}\n"
    f"-----END RSA {NAME}-----"
)
PGP = (
    f"-----BEGIN PGP {NAME} BLOCK-----\nVersion: Fake - 1\nComment: of a test\n\n{BODY}\n=F4ke\n"
    f"-----END PGP {NAME} BLOCK-----"
)
MARK = "[redacted: private key]"
PIECES = ("FakeKeyOfA", "Fak3Short")


def leaks(texts: tuple[str, ...]) -> bool:
    return any(piece in text for piece in PIECES for text in texts)


def together(*texts: str) -> tuple[tuple[str, ...], int]:
    return PatternRedactor().redact_together(texts, [None] * len(texts))


@pytest.mark.parametrize("key", [PLAIN, LOCKED, PGP])
def test_a_key_goes_as_a_whole_whatever_stands_above_its_text(key: str) -> None:
    assert PatternRedactor().redact(f"see {key} behind") == (f"see {MARK} behind", 1)
    assert PatternRedactor().redact(f"{key}\n{key}") == (f"{MARK}\n{MARK}", 2)


def test_a_key_in_json_goes_and_its_neighbours_stay() -> None:
    text = json.dumps({"before": "a-b", "file": LOCKED, "behind": "c-d"})
    assert PatternRedactor().redact(text) == (json.dumps({"before": "a-b", "file": MARK, "behind": "c-d"}), 1)


@pytest.mark.parametrize("key", [PLAIN, LOCKED, PGP])
def test_a_key_without_its_last_line_goes_up_to_the_end_of_its_text(key: str) -> None:
    cut = key[: key.index("\n=") if "\n=" in key else key.index("\n-----END")]
    assert together(f"see {cut}\n[more]", "an answer") == ((f"see {MARK}", "an answer"), 1)


def test_a_key_without_its_first_line_goes_back_as_far_as_its_lines_reach() -> None:
    tail = LOCKED[LOCKED.index("Test01234") :]
    assert together(tail + "\nbehind") == ((f"{MARK}\nbehind",), 1)
    assert together("The end of it:\n" + tail[tail.index("\n") + 1 :]) == ((f"The end of it:\n{MARK}",), 1)


@pytest.mark.parametrize("key", [PLAIN, LOCKED])
def test_a_key_does_not_leak_wherever_it_is_split_over_two_texts(key: str) -> None:
    for at in range(1, len(key)):
        texts, places = together("before " + key[:at], key[at:] + "\nbehind")
        assert not leaks(texts), at
        assert places == 1, at
        assert texts[0].startswith("before ")
        assert texts[1].endswith("\nbehind")


def test_a_key_does_not_leak_where_it_is_split_over_three_texts() -> None:
    for at in range(1, len(LOCKED), 9):
        for then in range(at + 1, len(LOCKED), 13):
            assert not leaks(together(LOCKED[:at], LOCKED[at:then], LOCKED[then:])[0]), (at, then)


def test_a_key_that_is_read_in_two_goes_is_two_secrets() -> None:
    lines = LOCKED.split("\n")
    texts, places = together("\n".join(lines[:6]), "Now the rest of the file.", "\n".join(lines[6:]))
    assert texts == (MARK, "Now the rest of the file.", MARK)
    assert places == 2


@pytest.mark.parametrize(
    "text",
    [
        f'if "-----BEGIN {NAME}-----" in text:\n    raise ValueError(text)',
        f'FIRST = "-----BEGIN RSA {NAME}-----"\n\n\ndef lines(path: str) -> list[str]:',
        f'FIRST = b"-----BEGIN {NAME}-----"\nLAST = b"-----END {NAME}-----"',
        f"between '-----BEGIN {NAME}-----' and '-----END {NAME}-----'",
        f"-----END {NAME}-----",
        f"a {NAME} is never shown",
        f"-----BEGIN {NAME}----- is its first line. "
        + "Much is said of keys. " * 1000
        + f"-----END {NAME}-----",
    ],
)
def test_words_about_keys_stay(text: str) -> None:
    assert together(text, "and what is said next") == ((text, "and what is said next"), 0)


def test_a_key_in_strings_of_code_goes_from_its_first_to_its_last_line() -> None:
    code = 'KEY = (\n    "' + PLAIN.replace("\n", '\\n"\n    "') + '"\n)'
    assert PatternRedactor().redact(code) == (f'KEY = (\n    "{MARK}"\n)', 1)
