"""``trimtab schema``: the JSON Schemas that ship."""

from __future__ import annotations

import click

from ..data import data_root
from . import exits

SCHEMAS = ("pack", "test", "receipt", "journal")


@click.command("schema", short_help="Print a JSON Schema.")
@click.argument("name", metavar="[" + "|".join(SCHEMAS) + "]", type=click.Choice(SCHEMAS), default="pack")
@click.option("--json", "as_json", is_flag=True, help="No difference: a schema is JSON.")
def command(name: str, as_json: bool) -> int:
    """Print the JSON Schema (draft-07) of a pack, of its tests, of a receipt, or of one line of a journal."""
    click.echo((data_root() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"), nl=False)
    return exits.FINE
