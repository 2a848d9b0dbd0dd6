"""The example of a team's pack, and the hooks this repository offers: all of their commands run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.faults.support import answer, loop, run, verdict

from trimtab import Engine, ManualRequest, commands
from trimtab.data import data_root
from trimtab.packs.difference import differences
from trimtab.packs.load import load
from trimtab.packs.sources import resolve
from trimtab.summarizers.canned import CannedSummarizer

ROOT = data_root()
TEAM = ROOT / "examples" / "team-pack"
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
WORKFLOW: Any = yaml.safe_load((TEAM / ".github" / "workflows" / "packs.yml").read_text("utf-8"))
RUNS = [step["run"] for step in WORKFLOW["jobs"]["packs"]["steps"] if "run" in step]


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example, which is the working directory."""
    copy = shutil.copytree(TEAM, tmp_path / "team")
    monkeypatch.chdir(copy)
    return copy


def test_the_team_changes_three_things_of_the_pack_it_builds_on() -> None:
    found = differences(resolve("claude-code"), resolve(TEAM / "harbor_pack"))
    assert [each.path for each in found if each.path not in ("name", "description")] == [
        "settings.percent",
        "tools.read",
        "tools.search",
        "stages.full-summary.instructions",
    ]


def test_whoever_writes_a_summary_is_told_of_the_teams_wishes() -> None:
    writer = CannedSummarizer([answer()])
    engine = Engine(load(TEAM / "harbor_pack"), summarizer=writer)
    outcome = run(engine, loop(12, 3000), "manual", request=ManualRequest())
    assert verdict(outcome, "full-summary") == "committed"
    assert "tide table" in writer.asked[0].prompt


@pytest.mark.parametrize("line", [line for line in RUNS if line.startswith("trimtab")])
@pytest.mark.usefixtures("team")
def test_every_command_of_the_teams_workflow_passes(line: str) -> None:
    words = shlex.split(line)[1:]
    assert commands.invoke(words) == 0


def test_the_workflow_checks_formats_and_tests() -> None:
    assert [line.split()[1] for line in RUNS if line.startswith("trimtab")] == ["check", "test", "fmt"]


def test_the_team_uses_every_hook_there_is() -> None:
    config = yaml.safe_load((TEAM / ".pre-commit-config.yaml").read_text("utf-8"))
    [repository] = config["repos"]
    assert sorted(hook["id"] for hook in repository["hooks"]) == sorted(hook["id"] for hook in HOOKS)


def called(hook: dict[str, Any]) -> list[str]:
    """The words pre-commit would call a hook with, in a repository that is the example."""
    files = [path.as_posix() for path in sorted(Path().rglob("*")) if path.is_file()]
    chosen = [path for path in files if re.search(hook["files"], path)]
    assert chosen
    words = [*shlex.split(hook["entry"]), *hook.get("args", [])]
    return [*words, *(chosen if hook.get("pass_filenames", True) else [])]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_passes_on_a_sound_pack_and_fails_on_a_broken_one(
    team: Path, hook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    words = called(hook)
    assert words[0] == "trimtab"
    assert hook["language"] == "python"
    assert commands.invoke(words[1:]) == 0, capsys.readouterr()
    pack = team / "harbor_pack" / "pack.yaml"
    text = pack.read_text("utf-8")
    broken: dict[str, Callable[[], str]] = {
        "trimtab-check": lambda: text.replace("settings:", "setings:"),
        "trimtab-fmt": lambda: text.replace("format: 1\nname: harbor\n", "name: harbor\nformat: 1\n"),
        "trimtab-test": lambda: text.replace("percent: 80", "percent: 81"),
    }
    pack.write_text(broken[hook["id"]](), "utf-8")
    assert pack.read_text("utf-8") != text
    assert commands.invoke(called(hook)[1:]) == 1


def test_a_hook_looks_at_packs_and_at_nothing_else() -> None:
    for hook in HOOKS:
        assert re.search(hook["files"], "a/pack.yaml")
        assert re.search(hook["files"], "pack.yaml")
        assert not re.search(hook["files"], "a/README.md")
        assert not re.search(hook["files"], "my-pack.yaml.orig")
