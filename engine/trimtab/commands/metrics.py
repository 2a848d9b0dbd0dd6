"""``trimtab metrics``: what conditions and expressions may ask about."""

from __future__ import annotations

import click

from ..policy.metrics import METRICS
from . import exits


@click.command("metrics", short_help="List the metrics.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> int:
    """List the metrics: name, type, unit, meaning. Those marked `accept` exist only in `accept`."""
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"metrics": [metric_dict(name) for name in METRICS]}))
        return exits.FINE
    from ..outputs.table import show_table

    rows = []
    for metric in METRICS.values():
        values = f" ({' '.join(metric.values)})" if metric.values else ""
        where = "accept" if metric.accept_only else "anywhere"
        rows.append((metric.name, metric.type, metric.unit, where, metric.meaning + values))
    show_table(("metric", "type", "unit", "where", "meaning"), rows)
    return exits.FINE


def metric_dict(name: str) -> dict[str, object]:
    """A metric for programs."""
    metric = METRICS[name]
    return {
        "name": metric.name,
        "type": metric.type,
        "unit": metric.unit,
        "meaning": metric.meaning,
        "accept_only": metric.accept_only,
        "values": list(metric.values),
    }
