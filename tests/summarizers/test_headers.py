"""What headers say about trying again."""

from __future__ import annotations

import pytest

from trimtab.summarizers.headers import repeatable, retry_after

DATE = "Mon, 02 Mar 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Mon, 02 Mar 2026 10:00:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Mon, 02 Mar 2026 10:00:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_seconds_milliseconds_and_dates_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_what_the_api_says_about_repeating_goes_before_what_is_usual() -> None:
    assert repeatable({"x-should-retry": "false"}, True) is False
    assert repeatable({"x-should-retry": "true"}, False) is True
    assert repeatable({}, True) is True
    assert repeatable({"x-should-retry": "perhaps"}, False) is False
