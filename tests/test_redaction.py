"""Secrets are found by their form and replaced by fixed words; all of them are made up when the test runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.redaction import PatternRedactor, Redactor, make, redact_all

LETTERS = "FakeSecretOfATest0123456789FakeSecretOfATest0123456789"
SECRETS = {
    "anthropic key": "sk-" + "ant-" + LETTERS,
    "openai key": "sk-" + "proj-" + LETTERS,
    "github token": "gh" + "p_" + LETTERS[:36],
    "gitlab token": "gl" + "pat-" + LETTERS[:20],
    "aws key": "AK" + "IA" + "FAKEFAKEFAKE0123",
    "google key": "AI" + "za" + LETTERS[:35],
    "slack token": "xo" + "xb-" + "1234567890-" + LETTERS[:24],
    "stripe key": "sk" + "_live_" + LETTERS[:24],
    "npm token": "np" + "m_" + LETTERS[:36],
    "hugging face token": "h" + "f_" + LETTERS[:34],
    "json web token": "ey" + "JmYWtlIjoxfQ.ey" + "JmYWtlIjoxfQ." + LETTERS[:30],
    "private key": "-----BEGIN FAKE " + "PRIVATE KEY-----\nMIIB\nfake\n-----END FAKE " + "PRIVATE KEY-----",
}
REDACTORS: list[Any] = ["patterns", "detect-secrets"]


@pytest.fixture(params=REDACTORS)
def redactor(request: pytest.FixtureRequest) -> Redactor:
    if request.param == "detect-secrets":
        pytest.importorskip("detect_secrets")
    found = make(request.param)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", SECRETS)
def test_a_known_kind_of_secret_is_replaced_by_its_name(redactor: Redactor, kind: str) -> None:
    text, places = redactor.redact(f"before {SECRETS[kind]} behind, {SECRETS[kind]}\nend")
    assert text == f"before [redacted: {kind}] behind, [redacted: {kind}]\nend"
    assert places == 2


@pytest.mark.parametrize(
    "line",
    [
        "password = 'fake{}'",
        'DB_PASSWORD="fake{}"',
        "api_key: fake{}",
        "export AWS_SECRET_ACCESS_KEY=fake{}",
        '{{"client_secret": "fake{}"}}',
        "https://me:fake{}@example.org/x",
        "Authorization: Bearer fakefakefake{}",
    ],
)
def test_a_value_whose_name_says_that_it_is_secret_is_replaced(redactor: Redactor, line: str) -> None:
    text, places = redactor.redact(line.format("pa55word2030"))
    assert "pa55word2030" not in text
    assert places == 1
    assert "[redacted: " in text


@pytest.mark.parametrize(
    "text",
    [
        "commit 4f2a9c1d2e3b4a5c6d7e8f9a0b1c2d3e4f5a6b7c",
        "uuid 0b5c8d2e-1f3a-4b6c-8d7e-9f0a1b2c3d4e",
        "password: <ask the user>",
        "PASSWORD=${DB_PASSWORD_2}",
        "token = get_token2(user1)",
        "password = os.environ['DB_PASS2']",
        "secret: config.auth.secret1",
        "max_tokens=20000000",
        "task-list-of-the-secretary-2030-01-31",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    ],
)
def test_hashes_ids_names_and_references_stay(redactor: Redactor, text: str) -> None:
    assert redactor.redact(text) == (text, 0)


def test_the_library_finds_more() -> None:
    pytest.importorskip("detect_secrets")
    library, patterns = make("detect-secrets"), make("patterns")
    assert library is not None
    assert patterns is not None
    token = "12345678" + ":" + "FakeBotTokenOfATest_0123456789-Fake"
    assert patterns.redact(f"bot {token} says")[1] == 0
    assert library.redact(f"bot {token} says") == ("bot [redacted: telegram bot token] says", 1)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(sorted(SECRETS)))
def test_what_is_redacted_once_stays_as_it_is(text: str, kind: str) -> None:
    redactor = PatternRedactor()
    once, _ = redactor.redact(f"{text} {SECRETS[kind]} {text}")
    assert redactor.redact(once) == (once, 0)


def test_equal_texts_are_looked_through_once() -> None:
    class Counting:
        asked = 0

        def redact(self, text: str) -> tuple[str, int]:
            self.asked += 1
            return text.upper(), 1

    counting = Counting()
    assert redact_all(counting, ["a", "b", "a"]) == (("A", "B", "A"), 3)
    assert counting.asked == 2
    assert redact_all(None, ["a"]) == (("a",), 0)


def test_an_unknown_redactor_is_refused_by_name() -> None:
    assert make("none") is None
    with pytest.raises(
        ValueError, match="there is no redactor 'all'; there are patterns, detect-secrets, none"
    ):
        make("all")
