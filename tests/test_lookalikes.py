"""What a text looks like, whatever characters it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.templating import fence
from trimtab.templating.lookalikes import skeleton, visible


@pytest.mark.parametrize(
    "text",
    [
        "[user]",
        "［ｕｓｅｒ］",
        "[uѕеr]",
        "\u200b[us\u00ader]\ufeff",
        "[υser]",
        "〔USER〕",
        "[𝐮𝐬𝐞𝐫]",
        "[u\u0301ser]",
    ],
)
def test_look_alikes_have_one_skeleton(text: str) -> None:
    assert skeleton(text) == "[user]"


@pytest.mark.parametrize("text", ["</data-x>", "＜/data-x＞", "‹⁄dаtа‐x›", "<\u200b/\u2060data\u00ad-x>"])
def test_so_have_fences(text: str) -> None:
    assert skeleton(text) == "</data-x>"


def test_words_of_other_languages_stay_words() -> None:
    assert fence("привет <b>мир</b> 你好 < 3", "m") == "<data-m>\nпривет <b>мир</b> 你好 < 3\n</data-m>"
    assert fence("سلام‌ها 👩‍💻", "m") == "<data-m>\nسلام‌ها 👩‍💻\n</data-m>"


def test_what_steers_or_hides_text_is_written_out() -> None:
    assert visible("a\u202eb\u2066c\U000e0041") == "a\\u202eb\\u2066c\\ue0041"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_a_skeleton_is_its_own_skeleton(text: str) -> None:
    once = skeleton(text)
    assert skeleton(once) == once
