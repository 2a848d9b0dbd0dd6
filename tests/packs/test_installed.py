"""Packs that other distributions bring: found by their metadata, read as files, never imported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.commands import invoke
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


def test_a_name_that_two_distributions_have_is_an_error_that_names_both(site: Path) -> None:
    for owner in ("one", "two"):
        distribution(site, owner, {"shared": owner}, {f"{owner}/pack.yaml": PACK.format(name=owner)})
    with pytest.raises(PackError) as caught:
        load("shared")
    assert "from one 2.0.0 and from two 2.0.0" in str(caught.value)
    assert "`one:shared` or `two:shared`" in str(caught.value)
    assert [load(f"{owner}:shared").name for owner in ("one", "two")] == ["one", "two"]
    listed = [each for each in available_packs() if each.origin != "shipped"]
    assert [each.name for each in listed] == ["one:shared", "two:shared"]
    assert [problem.severity for each in listed for problem in each.problems] == ["warning"] * 2


def test_a_name_of_the_engines_own_means_its_own_whatever_is_installed(site: Path, tmp_path: Path) -> None:
    text = PACK.format(name="theirs")
    distribution(site, "House.Packs", {"claude-code": "house"}, {"house/pack.yaml": text})
    assert load("claude-code").name == "claude-code"
    assert load("House.Packs:claude-code").name == load("house-packs:claude-code").name == "theirs"
    own = tmp_path / "own.yaml"
    own.write_text(
        "format: 1\nname: own\nversion: 1.0.0\nextends: [house-packs:claude-code]\nstages: []\n", "utf-8"
    )
    assert check(own).ok
    [listed] = [each for each in available_packs() if each.origin == "House.Packs 2.0.0"]
    assert (listed.name, listed.description) == ("House.Packs:claude-code", "of a distribution")
    [problem] = listed.problems
    assert problem.severity == "warning"
    assert "the name of one of the engine's own" in problem.message


def test_a_distribution_or_a_pack_of_it_that_is_not_there_is_told_with_what_is(site: Path) -> None:
    distribution(site, "house", {"strict": "house"}, {"house/pack.yaml": PACK.format(name="strict")})
    for name in ("hous:strict", "house:strickt"):
        with pytest.raises(PackError, match="did you mean `house:strict`"):
            load(name)


BROKEN = {
    "entry_points.txt": [
        b"[trimtab.packs]\nstrict\n",
        b"[trimtab.packs]\nstrict = \xff\n",
    ],
    "METADATA": [b"\xff\xfe", b"", b"Name: house\n", None],
    "RECORD": [b"\xff\xfe", b"a,b,c,d,e\n", b"house/pack.yaml,,many\n"],
}


@pytest.mark.parametrize(
    ("part", "data"),
    [(part, data) for part, each in BROKEN.items() for data in each],
)
def test_a_distribution_with_broken_metadata_is_one_problem_and_all_else_goes_on(
    site: Path, tmp_path: Path, part: str, data: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    distribution(site, "harbor", {"calm": "calm"}, {"calm/pack.yaml": PACK.format(name="calm")})
    distribution(site, "house", {"strict": "house"}, {"house/pack.yaml": PACK.format(name="strict")})
    file = site / "house-2.0.0.dist-info" / part
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    own = tmp_path / "own.yaml"
    own.write_text("format: 1\nname: own\nversion: 1.0.0\nextends: [calm]\nstages: []\n", "utf-8")
    assert check(own).ok
    assert load("calm").name == "calm"
    assert invoke(["packs", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert "calm" in [each["name"] for each in found["packs"]]
    assert "strict" not in [each["name"] for each in found["packs"]]
    [problem] = found["problems"]
    assert "the distribution house 2.0.0" in problem["message"]
    assert part in problem["message"]
    with pytest.raises(PackError) as caught:
        load("strict")
    assert [each.message[:17] for each in caught.value.problems] == ["there is no pack ", "the distribution "]


def test_a_distribution_that_is_broken_is_told_where_a_pack_builds_on_it(site: Path, tmp_path: Path) -> None:
    distribution(site, "house", {"strict": "house"}, {"house/pack.yaml": PACK.format(name="strict")})
    (site / "house-2.0.0.dist-info" / "METADATA").unlink()
    own = tmp_path / "own.yaml"
    own.write_text("format: 1\nname: own\nversion: 1.0.0\nextends: [strict]\nstages: []\n", "utf-8")
    first, second = check(own).problems
    assert (first.code, first.line) == ("extends", 4)
    assert "its METADATA cannot be read" in second.message


def test_an_entry_point_whose_name_no_pack_can_have_is_told_of(site: Path) -> None:
    distribution(site, "house", {"No Name": "house"}, {"house/pack.yaml": PACK.format(name="x")})
    [problem] = find_installed([str(site)]).problems
    assert "`No Name`" in problem.message


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
    [found] = find_installed([str(wheel_site)]).packs
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
