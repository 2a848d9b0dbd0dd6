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
