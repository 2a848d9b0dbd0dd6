"""What is looked at before anything else."""

from __future__ import annotations

import pytest

from trimtab.packs.document import parse_document
from trimtab.packs.gate import admit
from trimtab.packs.problems import PackError


@pytest.mark.parametrize(
    ("clauses", "version", "fits"),
    [
        (">=0.1,<1", "0.1.0", True),
        (">=0.1,<1", "0.9.12", True),
        (">=0.1,<1", "1.0.0", False),
        (">=0.2", "0.1.9", False),
        (">0.1", "0.1.0", False),
        ("==0.1", "0.1.0", True),
        ("!=0.1.3", "0.1.3", False),
        ("~=0.1.2", "0.1.9", True),
        ("~=0.1.2", "0.2.0", False),
        ("~=1.2.0", "1.2.9", True),
        ("~=1.2.0", "1.3.0", False),
        ("~=1.0", "1.9.0", True),
        ("~=1.0", "2.0.0", False),
        ("~=1", "1.9", True),
        ("==1", "1.0.0", True),
        ("<=1.0", "1.0.1", False),
        ("<= 0.1 , >= 0.1", "0.1.0", True),
        ("<0.10", "0.9", True),
    ],
)
def test_every_clause_must_hold(clauses: str, version: str, fits: bool) -> None:
    document = parse_document(f'requires: "{clauses}"\n', "pack.yaml")
    if fits:
        admit(document, version)
        return
    with pytest.raises(PackError) as caught:
        admit(document, version)
    assert [problem.code for problem in caught.value.problems] == ["requires"]


@pytest.mark.parametrize("form", ["2", "0", "'1'", "true", "1.5"])
def test_another_format_is_not_read_any_further(form: str) -> None:
    with pytest.raises(PackError) as caught:
        admit(parse_document(f"format: {form}\nstages: 7\n", "pack.yaml"))
    assert [problem.code for problem in caught.value.problems] == ["format"]
