"""Packs that other distributions bring: found by their metadata, read as files, never imported."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.data import data_root
from trimtab.packs import installed
from trimtab.packs.installed import find_installed
from trimtab.packs.load import available_packs, check, load
from trimtab.packs.problems import PackError

TEAM = data_root() / "examples" / "team-pack"
PACK = "format: 1\nname: {name}\nversion: 2.0.0\ndescription: of a distribution\nstages: []\n"


def distribution(
    site: Path,
    name: str,
    entries: dict[str, str],
    files: dict[str, str],
    listed: bool = True,
    editable: bool = False,
) -> None:
    """An unpacked distribution: its files, and the metadata an installer writes."""
    info = site / f"{name.replace('-', '_')}-2.0.0.dist-info"
    info.mkdir(parents=True)
    lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[trimtab.packs]\n{lines}", "utf-8")
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, "utf-8")
    if editable:
        (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}', "utf-8")
    record = [f"{info.name}/METADATA,,", f"{info.name}/entry_points.txt,,"]
    record += [f"{path},," for path in files] if listed else []
    (info / "RECORD").write_text("\n".join(record) + "\n", "utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands on the path in the place of what is installed here."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(installed, "installed_packs", lambda: find_installed([str(folder)]))
    for module in ("trimtab.packs.sources", "trimtab.packs.load"):
        monkeypatch.setattr(f"{module}.installed_packs", lambda: find_installed([str(folder)]))
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_pack_of_a_distribution_is_loaded_by_its_name_and_can_be_built_on(
    site: Path, tmp_path: Path
) -> None:
    distribution(site, "house", {"strict": "house.packs"}, {"house/packs/pack.yaml": PACK.format(name="x")})
    assert load("strict").version == "2.0.0"
    own = tmp_path / "own.yaml"
    own.write_text("format: 1\nname: own\nversion: 1.0.0\nextends: [strict]\nstages: []\n", "utf-8")
    assert check(own).ok


def test_the_code_of_a_distribution_is_never_run(site: Path) -> None:
    trap = "raise SystemExit('imported')\n"
    files = {"trap/pack.yaml": PACK.format(name="trap"), "trap/__init__.py": trap}
    distribution(site, "trap", {"trap": "trap"}, files)
    sys.path.insert(0, str(site))
    try:
        assert load("trap").name == "trap"
    finally:
        sys.path.remove(str(site))
    assert "trap" not in sys.modules


def test_where_each_pack_comes_from_is_listed(site: Path, tmp_path: Path) -> None:
    distribution(site, "house-packs", {"strict": "house"}, {"house/pack.yaml": PACK.format(name="strict")})
    (tmp_path / "mine" / "one").mkdir(parents=True)
    (tmp_path / "mine" / "one" / "pack.yaml").write_text(PACK.format(name="one"), "utf-8")
    found = {each.name: each for each in available_packs([tmp_path / "mine"])}
    assert found["claude-code"].origin == "shipped"
    assert found["strict"].origin == "house-packs 2.0.0"
    assert found["strict"].description == "of a distribution"
    assert found["one"].origin == "folder"


@pytest.mark.parametrize(
    ("name", "owners"),
    [("shared", ["one 2.0.0", "two 2.0.0"]), ("claude-code", ["the engine itself", "two 2.0.0"])],
)
def test_a_name_that_two_have_is_an_error_that_names_both(site: Path, name: str, owners: list[str]) -> None:
    distribution(site, "one", {"shared": "one"}, {"one/pack.yaml": PACK.format(name="shared")})
    distribution(site, "two", {name: "two"}, {"two/pack.yaml": PACK.format(name=name)})
    with pytest.raises(PackError) as caught:
        load(name)
    assert all(owner in str(caught.value) for owner in owners)
    clash = [each for each in available_packs() if each.name == name and each.problems]
    assert "two 2.0.0" in [each.origin for each in clash]
    assert load(data_root() / "rules" / "claude-code").name == "claude-code"


@pytest.mark.parametrize("value", ["gone", "no/where", "../up", "a:b", "a.b c"])
def test_an_entry_point_that_leads_to_no_pack_says_so(site: Path, value: str) -> None:
    distribution(site, "house", {"strict": value}, {"house/other.yaml": "a: 1\n"})
    with pytest.raises(PackError, match=r"house 2\.0\.0 declares the pack `strict`"):
        load("strict")
    [listed] = [each for each in available_packs() if each.name == "strict"]
    assert listed.problems


def test_a_file_the_distribution_does_not_own_is_not_taken_for_its_pack(site: Path) -> None:
    distribution(site, "house", {"strict": "foreign"}, {})
    (site / "foreign").mkdir()
    (site / "foreign" / "pack.yaml").write_text(PACK.format(name="foreign"), "utf-8")
    with pytest.raises(PackError):
        load("strict")


def test_an_editable_install_is_found_on_the_path(site: Path) -> None:
    files = {"house/pack.yaml": PACK.format(name="strict")}
    distribution(site, "house", {"strict": "house"}, files, listed=False, editable=True)
    assert load("strict").name == "strict"


def test_a_pack_for_another_engine_is_refused_before_anything_else_and_still_listed(site: Path) -> None:
    text = PACK.format(name="strict") + 'requires: ">=99"\nnobody_knows: this\n'
    distribution(site, "house", {"strict": "house"}, {"house/pack.yaml": text})
    with pytest.raises(PackError) as caught:
        load("strict")
    assert [problem.code for problem in caught.value.problems] == ["requires"]
    [listed] = [each for each in available_packs() if each.name == "strict"]
    assert [problem.code for problem in listed.problems] == ["requires"]


def test_a_misspelt_name_is_answered_with_installed_names_too(site: Path) -> None:
    distribution(site, "house", {"strict": "house"}, {"house/pack.yaml": PACK.format(name="strict")})
    with pytest.raises(PackError, match="did you mean `strict`"):
        load("strickt")


@pytest.fixture(scope="module")
def wheel_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The team's example, built as a wheel and installed into a folder by pip."""
    work = tmp_path_factory.mktemp("wheel")
    shutil.copytree(TEAM, work / "source")
    pip = ["pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "harbor-pack"]
    for command in (
        ["hatchling", "build", "-t", "wheel", "-d", str(work / "dist")],
        [*pip, "--target", str(work / "site"), "--find-links", str(work / "dist")],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=work / "source", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return work / "site"


def test_the_teams_example_can_be_built_installed_and_named(wheel_site: Path) -> None:
    [found] = find_installed([str(wheel_site)])
    assert (found.name, found.origin) == ("harbor", "harbor-pack 1.0.0")
    assert found.path == wheel_site / "harbor_pack" / "pack.yaml"
    assert list(wheel_site.rglob("*.py")) == []
    engine = data_root() / "engine"
    code = "from trimtab.commands import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "packs"],
        env={"PYTHONPATH": f"{engine}:{wheel_site}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("harbor ")]
    assert "harbor-pack 1.0.0" in line
