"""``metrics``: how tables are and how their last maintenance ended, as Prometheus reads it. No JVM."""

from datetime import UTC, datetime

import typer

from iceberg_assets.cli.common import ProfileOption, TableArgument, app, chosen
from iceberg_assets.metrics import collect, exposition


@app.command()
def metrics(table: TableArgument = None, profile: ProfileOption = None) -> None:
    """Health of the declared tables and last outcomes of their catalogs, in Prometheus's text format."""
    typer.echo(exposition(collect(list(chosen(table, profile)), datetime.now(UTC))), nl=False)
