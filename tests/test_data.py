"""The engine's own version and files."""

from __future__ import annotations

import tomllib
from pathlib import Path

from trimtab.data import data_root
from trimtab.version import __version__ as VERSION


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == VERSION


def test_schemas_and_templates_are_where_the_engine_looks() -> None:
    assert (data_root() / "schemas").is_dir()
    assert (data_root() / "templates").is_dir()
