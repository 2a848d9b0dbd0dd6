"""``trimtab init``: a pack that checks clean, with tests that pass, and nothing overwritten."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

FILES = [
    ".github/workflows/packs.yml",
    ".pre-commit-config.yaml",
    ".vscode/settings.json",
    "pack.yaml",
    "schemas/pack.schema.json",
    "schemas/test.schema.json",
    "tests/house.yaml",
]


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "house"


@pytest.mark.parametrize("base", ["claude-code", "none", "claude-code-1m", "claude-code-collapse"])
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5-5", "gpt-4o-mini", "house-model"])
def test_what_is_written_checks_clean_is_formatted_and_its_tests_pass(
    trimtab: Callable, house: Path, base: str, model: str
) -> None:
    result = trimtab("init", house, "--base", base, "--model", model)
    assert result.code == 0, result.err
    assert files(house) == FILES
    checked = trimtab("check", "--strict", house)
    assert checked.code == 0, checked.out
    assert trimtab("fmt", "--check", house).code == 0
    tested = trimtab("test", house, "--json")
    assert tested.code == 0, tested.out
    assert trimtab("show", house, "--json").json["name"] == "house"


@pytest.mark.parametrize(("base", "change"), [("claude-code", "percent: 80"), ("none", "share: 0.8")])
def test_a_changed_threshold_makes_a_test_fail(
    trimtab: Callable, house: Path, base: str, change: str
) -> None:
    trimtab("init", house, "--base", base)
    pack = house / "pack.yaml"
    text = pack.read_text("utf-8")
    assert change in text
    pack.write_text(text.replace(change, change.replace("8", "7")), "utf-8")
    result = trimtab("test", house)
    assert result.code == 1
    assert "FAILED house: at " in result.out


def test_a_base_may_be_a_pack_of_ones_own_by_its_path(trimtab: Callable, house: Path, pack: Path) -> None:
    assert trimtab("init", house, "--base", pack).code == 0
    assert yaml.safe_load((house / "pack.yaml").read_text("utf-8"))["extends"] == ["../small.yaml"]
    assert trimtab("check", "--no-rehearse", house).code == 0
    assert trimtab("test", house).code == 0


def test_a_pack_that_is_there_is_refused_and_stays(trimtab: Callable, house: Path) -> None:
    house.mkdir()
    (house / "pack.yaml").write_text("mine", "utf-8")
    result = trimtab("init", house)
    assert result.code == 1
    assert "pack.yaml is there already" in result.err
    assert "--force" in result.err
    assert files(house) == ["pack.yaml"]
    assert (house / "pack.yaml").read_text("utf-8") == "mine"
    assert trimtab("init", house, "--force").code == 0
    assert files(house) == FILES


def test_hooks_settings_and_workflows_that_are_there_stay(trimtab: Callable, house: Path) -> None:
    (house / ".vscode").mkdir(parents=True)
    (house / ".vscode" / "settings.json").write_text("{}", "utf-8")
    result = trimtab("init", house, "--json")
    assert result.json["kept"] == [".vscode/settings.json"]
    assert (house / ".vscode" / "settings.json").read_text("utf-8") == "{}"
    assert files(house) == FILES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "Not Kebab"], "kebab-case"),
        (["--target", "antropic"], "did you mean `anthropic`"),
        (["--model", " "], "it is empty"),
    ],
)
def test_a_wrong_answer_is_wrong_usage_and_writes_nothing(
    trimtab: Callable, house: Path, arguments: list[str], said: str
) -> None:
    result = trimtab("init", house, *arguments)
    assert result.code == 2
    assert said in result.err
    assert not house.exists()


def test_a_base_that_does_not_exist_is_a_problem_and_writes_nothing(trimtab: Callable, house: Path) -> None:
    result = trimtab("init", house, "--base", "claude-cod")
    assert result.code == 1
    assert "did you mean `claude-code`" in result.err
    assert not house.exists()


class Terminal(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_what_no_option_says_is_asked(
    trimtab: Callable, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\nhouse-model\nnone\n"))
    result = trimtab("init", house, "--name", "port")
    assert result.code == 0
    # Name is said; API, model and base are asked: an empty answer takes the default.
    assert "API its requests are for" in result.err
    assert "Name of the pack" not in result.err
    written = yaml.safe_load((house / "pack.yaml").read_text("utf-8"))
    assert (written["name"], "extends" in written) == ("port", False)
    assert "house-model" in (house / "tests" / "port.yaml").read_text("utf-8")


def test_yes_asks_nothing(trimtab: Callable, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(""))
    result = trimtab("init", house, "--yes")
    assert result.code == 0
    assert result.err == ""


def test_the_workflow_and_the_hooks_name_the_folder_as_seen_from_the_root(
    trimtab: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    result = trimtab("init", "packs/house")
    assert "root of the repository" in result.out
    folder = tmp_path / "packs" / "house"
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "packs.yml").read_text("utf-8"))
    runs = [step["run"] for step in workflow["jobs"]["packs"]["steps"] if "run" in step]
    assert "trimtab check --format github --strict packs/house" in runs
    assert "trimtab test --format github packs/house" in runs
    hooks: Any = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text("utf-8"))
    entries = [hook["entry"] for hook in hooks["repos"][0]["hooks"]]
    assert entries == ["trimtab check --strict", "trimtab test packs/house", "trimtab fmt --check"]
    for hook in hooks["repos"][0]["hooks"]:
        assert re.search(hook["files"], "packs/house/pack.yaml")
        assert not re.search(hook["files"], "packs/house/README.md")


def test_the_editor_finds_the_schemas_from_the_modelines_and_from_the_settings(
    trimtab: Callable, house: Path
) -> None:
    trimtab("init", house)
    for file in ("pack.yaml", "tests/house.yaml"):
        first = (house / file).read_text("utf-8").splitlines()[0]
        target = first.removeprefix("# yaml-language-server: $schema=")
        assert json.loads((house / file).parent.joinpath(target).read_text("utf-8"))["$schema"]
    settings = json.loads((house / ".vscode" / "settings.json").read_text("utf-8"))
    for schema, globs in settings["yaml.schemas"].items():
        assert (house / schema).is_file()
        assert all(list(house.glob(glob)) for glob in globs)


@pytest.mark.parametrize("link", ["pack.yaml", "tests", "tests/house.yaml", ".github", "schemas"])
@pytest.mark.parametrize("option", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize("exists", [True, False], ids=["leads somewhere", "dangling"])
def test_nothing_is_written_through_a_link(
    trimtab: Callable, house: Path, tmp_path: Path, link: str, option: tuple[str, ...], exists: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if exists and "." in link[1:]:
        elsewhere.write_text("theirs", "utf-8")
    elif exists:
        elsewhere.mkdir()
    (house / link).parent.mkdir(parents=True)
    (house / link).symlink_to(elsewhere)
    result = trimtab("init", house, *option)
    assert result.code == 1
    assert f"{house / link} is a symbolic link (to {elsewhere})" in result.err
    assert files(house) == ([link] if exists and elsewhere.is_file() else [])
    assert elsewhere.exists() == exists
    if exists:
        assert (elsewhere.read_text("utf-8") if elsewhere.is_file() else files(elsewhere)) in ("theirs", [])


def test_hooks_that_are_a_link_stay_one(trimtab: Callable, house: Path, tmp_path: Path) -> None:
    (tmp_path / "hooks").write_text("theirs", "utf-8")
    house.mkdir()
    (house / ".pre-commit-config.yaml").symlink_to(tmp_path / "hooks")
    assert trimtab("init", house, "--json").json["kept"] == [".pre-commit-config.yaml"]
    assert (tmp_path / "hooks").read_text("utf-8") == "theirs"
    assert trimtab("init", house, "--force").code == 1
    assert (tmp_path / "hooks").read_text("utf-8") == "theirs"


@pytest.mark.parametrize("name", ["dangling", "dangling/deep", "loop", "loop/deep", "file", "file/deep"])
def test_a_place_that_can_be_no_folder_is_wrong_usage(trimtab: Callable, house: Path, name: str) -> None:
    (house.parent / "dangling").symlink_to(house.parent / "gone")
    (house.parent / "loop").symlink_to(house.parent / "loop")
    (house.parent / "file").write_text("mine", "utf-8")
    before = sorted(house.parent.rglob("*"))
    result = trimtab("init", name)
    assert result.code == 2
    assert f"'{name.split('/')[0]}' is no folder" in result.err
    assert sorted(house.parent.rglob("*")) == before


def test_a_folder_named_by_a_link_is_taken(trimtab: Callable, house: Path) -> None:
    house.mkdir()
    (house.parent / "link").symlink_to(house)
    assert trimtab("init", "link", "--name", "house").code == 0
    assert files(house) == FILES


def test_a_pack_that_cannot_be_written_whole_is_not_begun(
    trimtab: Callable, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "packs.yml":
            raise OSError(28, "No space left on device", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    result = trimtab("init", house)
    assert result.code == 1
    assert "packs.yml: No space left on device" in result.err
    assert not house.exists()


def test_even_with_force_a_read_only_pack_stays(trimtab: Callable, house: Path) -> None:
    house.mkdir()
    (house / "pack.yaml").write_text("mine", "utf-8")
    (house / "pack.yaml").chmod(0o444)
    result = trimtab("init", house, "--force")
    assert result.code == 1
    assert "pack.yaml: read-only" in result.err
    assert files(house) == ["pack.yaml"]
    assert (house / "pack.yaml").read_text("utf-8") == "mine"
