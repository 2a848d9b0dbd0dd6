"""A value is a secret where its name says so and it is neither word nor reference."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.redaction import FindingRedactor, PatternRedactor, make
from trimtab.secrets.values import field, telling

FAKE = "Fake5ecret0fATest"
VALUE = "[redacted: value]"


@pytest.fixture(params=["patterns", "detect-secrets"])
def redactor(request: pytest.FixtureRequest) -> FindingRedactor:
    if request.param == "detect-secrets":
        pytest.importorskip("detect_secrets")
    found = make(request.param)
    assert isinstance(found, FindingRedactor)
    return found


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "@"}',
        r"{\"password\": \"@\"}",
        '{"api_key": ["@"]}',
        '{"api_key": ["short", "@"]}',
        "password: |\n  @\nuser: me",
        "password: >-\n  @ and more\nuser: me",
        "password:\n  @\nuser: me",
        "password:\n\n  @\nuser: me",
        "api_keys:\n  - first\n  - @",
        "password = 'two words and @'",
        'password="quote \\" and @"',
        "password: str = '@'",
        "config['password'] = '@'",
        "**Password:** @",
        "--password @ --user me",
        "<password>@</password>",
        "DB_PASS=@",
        "PASSWORD=Pa$$@",
        "pass\u200bword: @",
        'authorization: "Basic @"',
        'headers.set("Authorization", "Bearer @")',
        "api_key: >-\n  @\n  and1more",
        "AUTHORIZATION: Bearer @",
        "Authorization:Bearer @",
        '{"headers": {"Authorization": "Bearer @"}}',
        r"{\"Authorization\": \"Bearer @\"}",
        '{"name": "Authorization", "value": "Bearer @@"}',
        "postgres://me:p@@/base",
        "postgres://me:p@ss@@host/base",
        "amqp://:@@host",
        "smtp://me@example.org:p:@@host:25",
    ],
)
def test_a_value_is_found_in_every_way_of_writing_it(redactor: FindingRedactor, text: str) -> None:
    text = text.replace("@@", f"{FAKE}@") if "://" in text else text.replace("@", FAKE)
    clean, places = redactor.redact(text)
    assert FAKE not in clean
    assert places == 1


@pytest.mark.parametrize(
    "text",
    [
        "password: str",
        "password?: string",
        "password = getpass()",
        'password = getpass.getpass("Password 2: ")',
        "token_count: 1234",
        "token_id: 0b5c8d2e-1f3a-4b6c-8d7e-9f0a1b2c3d4e",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${TOKEN_1}",
        "Authorization: Bearer <token-of-user-1>",
        'headers["Authorization"] = f"Bearer {token_of_user_1}"',
        "Authorization: required",
        "API_KEY=my_api_key_1",
        "password: env:DB_PASSWORD1",
        "secret_file: /run/secrets/base1/value2",
        "API_KEY=YOUR_API_KEY_1",
        "postgres://{user}:{password1}@host",
        "postgres://$USER:$PASSWORD1@host",
        "http://localhost:8080/@scope/name1",
        "git@example.org:user1/project2.git",
        '"password": "Password must have at least 8 characters"',
        "password:\n  min_length8: true",
        "secretKeyRef:\n  name: secret-of-base-12",
        "const token = await getToken2(user1)",
        "access_token: {type: string1}",
        '{"secret": true, "id": "abcd1234efgh"}',
        "src/secret_key1/file2.py",
        '"access_keys": [{"user": "user-at-12345678", "made": "2030-01-31T12:00:00Z"}]',
        '"password_changed": "2030-01-31T12:00:00Z"',
        "access_token_used: 2030-01-31",
        "NextToken: 0b5c8d2e1f3a4b6c8d7e9f0a1b2c3d4e",
        '"clientRequestToken": "0b5c8d2e-1f3a-4b6c-8d7e-9f0a1b2c3d4e"',
        '"continuation_token": "0b5c8d2e1f3a4b6c8d7e9f0a1b2c3d4e"',
        '"secret": "arn:aws:secretsmanager:us-west-2:123456789012:secret:base-1a2b3c"',
        '"pattern": "^arn:aws:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[a-zA-Z0-9/_+=.@-]+$"',
        'token = r"[-!#$%*+.^_0-9a-zA-Z]+"',
        '"output_token": "jobs[-1].part2.jobName"',
        "the token: >\n  let g:conceal = 1 and more",
        'signed = ("authorization", "x-amz-content-sha256")',
    ],
)
def test_code_references_and_words_stay(redactor: FindingRedactor, text: str) -> None:
    assert redactor.redact(text) == (text, 0)


@pytest.mark.parametrize("text", ["https://user:password@host/path", "https://user:****@host/path"])
def test_the_word_for_a_password_in_an_address_stays(text: str) -> None:
    assert PatternRedactor().redact(text) == (text, 0)


def test_a_name_at_the_end_of_a_text_has_its_value_in_the_next(redactor: FindingRedactor) -> None:
    assert redactor.redact_together(["The password:", f"{FAKE} is it"], [None, None]) == (
        ("The password:", f"{VALUE} is it"),
        1,
    )
    assert redactor.redact(f"The password:\n{FAKE} is it")[1] == 0


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("password", FAKE, True),
        ("password", "hunter2", True),
        ("password", "three plain words", True),
        ("password", "12345678", True),
        ("password", "hidden", False),
        ("password", "one line\nand one more", False),
        ("password", "$PASSWORD", False),
        ("password", "********", False),
        ("password", "Enter your password", False),
        ("password.default", FAKE, True),
        ("passwordHint", FAKE, False),
        ("apiKey", FAKE, True),
        ("headers.Authorization", f"Bearer {FAKE}", True),
        ("headers.Authorization", "Bearer $TOKEN", False),
        ("token", "next page", False),
        ("secret_path", FAKE, False),
        ("credentials", "same-origin", False),
        ("command", FAKE, False),
    ],
)
def test_a_field_is_judged_by_its_name(name: str, value: str, secret: bool) -> None:
    assert (telling(name) and field(name, value)) is secret


def test_of_a_field_the_whole_text_goes(redactor: FindingRedactor) -> None:
    names: list[Any] = ["password", "command"]
    assert redactor.redact_together(["three plain words", "three plain words"], names) == (
        (VALUE, "three plain words"),
        1,
    )
