from __future__ import annotations

from tests.scenes import Session, says, user

from trimtab.policy.proposal import Notice


def test_a_guard_tells_the_host_its_level_and_text() -> None:
    s = Session([user("go"), says("ok")], limits={"percent_left": "floor(12.7)"})
    stage = {
        "kind": "guard",
        "id": "warn",
        "level": "warning",
        "text": "{{ limits.percent_left }} % left of {{ messages }}",
    }
    proposal = s.propose(stage)
    assert proposal.notices == (Notice("warning", "12 % left of 2", "warn"),)
    assert proposal.edits == ()


def test_a_limit_without_a_value_is_shown_as_nothing() -> None:
    s = Session([user("go")], limits={"left": "messages - 5"})
    assert (
        s.propose({"kind": "guard", "level": "info", "text": "[{{ limits.left }}]"}).notices[0].text == "[]"
    )


def test_a_guard_whose_text_cannot_be_rendered_fails() -> None:
    proposal = Session([user("go")]).propose({"kind": "guard", "level": "block", "text": "{{ nobody }}"})
    assert proposal.failure == "error"
    assert proposal.notices == ()


def test_a_guard_may_name_facts_and_those_nobody_knows_are_nothing() -> None:
    s = Session([user("Find the leak.")])
    text = "{{ facts.user_messages[0].text }} {{ facts.plan | default('no plan') }}"
    assert (
        s.propose({"kind": "guard", "level": "info", "text": text}).notices[0].text
        == "Find the leak. no plan"
    )


def test_tokens_and_large_limits_are_whole_numbers_and_shares_are_not() -> None:
    limits = {"auto": "200000 / 3", "share": "2 / 3", "huge": "10000000 / 3"}
    s = Session([user("go " * 50), says("ok")], limits=limits)
    text = "{{ tokens }} {{ message_tokens }} {{ limits.auto }} {{ limits.huge }} {{ limits.share }} {{ idle_minutes }}"
    stage = {"kind": "guard", "level": "info", "text": text}
    s.factor = 1.2597
    shown = s.propose(stage).notices[0].text.split(" ")
    assert shown[0].isdecimal()
    assert shown[1].isdecimal()
    assert shown[2:] == ["66667", "3333333", "0.666667", ""]


def test_all_limits_together_are_whole_numbers_too() -> None:
    s = Session([user("go")], limits={"auto": "200000 / 3"})
    notice = s.propose({"kind": "guard", "level": "info", "text": "{{ limits }}"}).notices[0]
    assert notice.text == '{"auto": 66667}'
