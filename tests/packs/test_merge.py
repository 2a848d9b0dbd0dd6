"""What ``extends`` means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab.packs.check import examine, finished
from trimtab.packs.problems import PackError
from trimtab.packs.sources import Resolved, find_pack, resolve, resolve_text, shipped_packs

HEAD = "format: 1\nname: {name}\nversion: 1.0.0\n"
BASE = """settings: {share: 0.8, on_switch: true}
models: {"a-*": {share: 0.5}, "b-*": {share: 0.6}}
tools: {read: [Read], shell: [Bash]}
stages:
  - {id: one, kind: replace, once: true, select: {blocks: [tool_result], tools: [read]},
     keep: {newest: {items: 5}}, text: one}
  - {id: two, kind: drop, select: {blocks: [thinking]}}
  - id: group
    kind: first_of
    stages:
      - {id: inner, kind: summarize, text: inner}
      - {id: last, kind: summarize, text: last}
"""


def write(folder: Path, name: str, body: str, extends: str = "") -> Path:
    path = folder / f"{name}.yaml"
    lead = f"extends: [{extends}]\n" if extends else ""
    path.write_text(HEAD.format(name=name) + lead + body, "utf-8")
    return path


@pytest.fixture
def extended(tmp_path: Path) -> Any:
    """Resolves a pack that extends BASE."""
    write(tmp_path, "base", BASE)

    def build(body: str) -> Resolved:
        return resolve(write(tmp_path, "child", body, "base.yaml"))

    return build


def stages(resolved: Resolved) -> dict[str, Any]:
    return {stage["id"]: stage for stage in resolved.data["stages"]}


def codes(resolved: Resolved) -> list[str]:
    return [problem.code for problem in finished(examine(resolved)).problems]


def test_scalars_and_lists_replace_and_mappings_merge_by_key(extended: Any) -> None:
    resolved = extended(
        "settings: {share: 0.9}\ntools: {read: [Look]}\nstages: [{id: one, select: {tools: [shell]}}]\n"
    )
    assert resolved.data["settings"] == {"share": 0.9, "on_switch": True}
    assert resolved.data["tools"] == {"read": ["Look"], "shell": ["Bash"]}
    assert stages(resolved)["one"]["select"] == {"blocks": ["tool_result"], "tools": ["shell"]}
    assert codes(resolved) == ["unused-category"]  # the list of tools is replaced, so nothing asks for `read`


def test_what_a_file_is_called_is_not_inherited(extended: Any) -> None:
    resolved = extended("stages: []\n")
    assert resolved.data["name"] == "child"
    assert "description" not in resolved.data


def test_a_known_id_changes_that_stage_where_it_stands(extended: Any) -> None:
    resolved = extended("stages: [{id: two, enabled: false}]\n")
    assert list(stages(resolved)) == ["one", "two", "group"]
    assert stages(resolved)["two"]["enabled"] is False
    assert stages(resolved)["two"]["kind"] == "drop"


def test_a_child_is_changed_through_its_parent_or_by_its_id_alone(extended: Any) -> None:
    through = extended("stages: [{id: group, stages: [{id: inner, text: changed}]}]\n")
    alone = extended("stages: [{id: inner, text: changed}]\n")
    assert stages(through) == stages(alone)
    assert [each["text"] for each in stages(alone)["group"]["stages"]] == ["changed", "last"]


def test_a_new_stage_is_appended_or_placed(extended: Any) -> None:
    resolved = extended(
        "stages:\n"
        "  - {id: tail, kind: drop, select: {blocks: [document]}}\n"
        "  - {id: front, kind: drop, select: {error: true}, before: one}\n"
        "  - {id: behind-front, kind: drop, select: {empty: true}, after: front}\n"
        "  - {id: group, stages: [{id: middle, kind: summarize, text: middle, before: last}]}\n"
    )
    assert list(stages(resolved)) == ["front", "behind-front", "one", "two", "group", "tail"]
    assert [each["id"] for each in stages(resolved)["group"]["stages"]] == ["inner", "middle", "last"]
    assert codes(resolved) == []


def test_another_kind_replaces_the_stage_whole(extended: Any) -> None:
    resolved = extended("stages: [{id: one, kind: guard, level: info, text: note}]\n")
    assert stages(resolved)["one"] == {"id": "one", "kind": "guard", "level": "info", "text": "note"}
    assert next(iter(stages(resolved))) == "one"


def test_reset_drops_inherited_keys_first(extended: Any) -> None:
    resolved = extended("stages: [{id: one, reset: [keep, once, select], select: {blocks: [image]}}]\n")
    assert stages(resolved)["one"] == {
        "id": "one",
        "kind": "replace",
        "select": {"blocks": ["image"]},
        "text": "one",
    }


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("stages: [{id: nine, text: x}]\n", "stage-id"),
        ("stages: [{id: one, before: two}]\n", "place"),
        ("stages: [{id: one, reset: [fit]}]\n", "unknown-key"),
        ("stages: [{id: new, kind: drop, select: {blocks: [image]}, reset: [select]}]\n", "place"),
        ("stages: [{id: new, kind: drop, select: {blocks: [image]}, before: nine}]\n", "unknown-stage"),
        ("stages: [{id: new, kind: drop, select: {blocks: [image]}, before: one, after: two}]\n", "one-of"),
        ("settings: {share: high}\nstages: []\n", "type"),
        ("stages: [{id: group, stages: [{id: one, kind: summarize, text: x}]}]\n", "stage-id"),
    ],
)
def test_a_change_that_has_no_meaning_is_one_problem(extended: Any, body: str, code: str) -> None:
    assert codes(extended(body)) == [code]


def test_the_globs_of_the_extending_file_are_tried_first(extended: Any) -> None:
    resolved = extended('models: {"b-*": {share: 0.1}, "*": {share: 0.2}}\nstages: []\n')
    assert list(resolved.data["models"]) == ["b-*", "*", "a-*"]
    assert resolved.data["models"]["b-*"] == {"share": 0.1}


def test_every_value_remembers_the_file_it_came_from(extended: Any, tmp_path: Path) -> None:
    resolved = extended("settings: {share: 0.9}\nstages: [{id: one, keep: {newest: {items: 7}}}]\n")
    place = resolved.where(("stages", 0, "keep", "newest", "items"))
    assert (place.file, place.line) == (str(tmp_path / "child.yaml"), 6)
    assert resolved.where(("settings", "on_switch")).file == str(tmp_path / "base.yaml")
    assert resolved.where(("stages", 0, "text")).line == 9


def test_bases_are_merged_depth_first_from_left_to_right(tmp_path: Path) -> None:
    write(tmp_path, "deep", "settings: {a: 1, b: 1, c: 1, d: 1}\nstages: []\n")
    write(tmp_path, "left", "settings: {b: 2, c: 2, d: 2}\nstages: []\n", "deep.yaml")
    write(tmp_path, "right", "settings: {c: 3, d: 3}\nstages: []\n")
    resolved = resolve(write(tmp_path, "top", "settings: {d: 4}\nstages: []\n", "left.yaml, right.yaml"))
    assert resolved.data["settings"] == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_a_base_may_be_reached_twice_but_never_from_itself(tmp_path: Path) -> None:
    write(tmp_path, "root", "settings: {a: 1}\nstages: []\n")
    write(tmp_path, "left", "stages: []\n", "root.yaml")
    write(tmp_path, "right", "stages: []\n", "root.yaml")
    assert resolve(write(tmp_path, "top", "stages: []\n", "left.yaml, right.yaml")).data["settings"] == {
        "a": 1
    }
    write(tmp_path, "root", "stages: []\n", "left.yaml")
    with pytest.raises(PackError) as caught:
        resolve(tmp_path / "top.yaml")
    problem = caught.value.problems[0]
    assert problem.code == "extends"
    assert "left → root → left" in problem.message
    assert problem.file.endswith("root.yaml")


def test_templates_are_looked_up_in_the_extending_pack_first(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    write(tmp_path / "deeper", "base", "stages: []\n")
    resolved = resolve(write(tmp_path, "top", "stages: []\n", "deeper/base.yaml"))
    assert resolved.folders[:2] == (tmp_path / "templates", tmp_path / "deeper" / "templates")
    assert resolved.folders[-1].name == "templates"


def test_values_from_outside_are_merged_last() -> None:
    body = HEAD.format(name="top") + BASE
    places = [
        ("settings.share", "0.3"),
        ("limits.auto", "0.9 * window"),
        ("stages.one.keep.newest.items", "9"),
        ("stages.inner.text", "from outside"),
        ("stages.group.stages.last.enabled", "false"),
        ("stages.one.select.tools.0", "shell"),
        ("stages.two.select", "{age: {turns: {at_least: 1}}}"),
    ]
    resolved = resolve_text(body, "top", (), places)
    assert resolved.problems == ()
    assert resolved.data["settings"]["share"] == 0.3
    assert resolved.data["limits"] == {"auto": "0.9 * window"}
    one, two, group = resolved.data["stages"]
    assert one["keep"] == {"newest": {"items": 9}}
    assert one["select"]["tools"] == ["shell"]
    assert two["select"] == {"blocks": ["thinking"], "age": {"turns": {"at_least": 1}}}
    assert [each["text"] for each in group["stages"]] == ["from outside", "last"]
    assert group["stages"][1]["enabled"] is False
    assert resolved.where(("limits", "auto")).file == "--set limits.auto"
    assert codes(resolved) == []


@pytest.mark.parametrize(
    ("place", "text", "code"),
    [
        ("stages.ones.text", "x", "set"),
        ("stages.one.select.tools.7", "x", "set"),
        ("stages.one.txt", "x", "unknown-key"),
        ("limits.auto", "min(1", "expression"),
        ("settings.share", "[1", "yaml"),
    ],
)
def test_a_value_from_outside_that_does_not_fit_is_reported_under_its_place(
    place: str, text: str, code: str
) -> None:
    resolved = resolve_text(HEAD.format(name="top") + BASE, "top", (), [(place, text)])
    problems = finished(examine(resolved)).problems
    assert [problem.code for problem in problems] == [code]
    assert problems[0].file == f"--set {place}"


def test_packs_are_found_by_name_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "pack.yaml"
    path.write_text(HEAD.format(name="mine") + "stages: []\n", "utf-8")
    assert find_pack(str(tmp_path / "mine")) == path
    assert find_pack(path) == path
    assert find_pack("mine", tmp_path) == path
    for name, shipped in shipped_packs().items():
        assert find_pack(name) == shipped


@pytest.mark.parametrize("name", ["no-such-pack", "./no-such-folder/", "nothing.yaml"])
def test_a_pack_that_is_not_there_is_said_so(name: str) -> None:
    with pytest.raises(PackError) as caught:
        find_pack(name)
    assert caught.value.problems[0].code == "file"


def test_an_absolute_path_is_no_base(tmp_path: Path) -> None:
    base = write(tmp_path, "base", "stages: []\n")
    with pytest.raises(PackError) as caught:
        resolve(write(tmp_path, "top", "stages: []\n", str(base)))
    assert caught.value.problems[0].code == "extends"
