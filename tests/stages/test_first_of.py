from __future__ import annotations

from tests.scenes import Session, stage_of, user

from trimtab.stages import KINDS, FirstOf


def test_a_first_of_proposes_nothing_itself() -> None:
    proposal = Session([user("go")]).propose(stage_of({"kind": "first_of", "stages": []}))
    assert proposal.edits == ()
    assert proposal.reason is not None


def test_every_kind_is_registered_under_its_own_name() -> None:
    assert KINDS["first_of"] is FirstOf
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
