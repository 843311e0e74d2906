"""``rollback``: take the last maintenance back; ``hold``: end what keeps maintenance away from a table."""

from typing import Annotated, Any

import typer

from iceberg_assets.cli.common import (
    JsonOption,
    ProfileOption,
    RequiredTable,
    app,
    known,
    print_json,
)
from iceberg_assets.maintenance import last_maintenance, release, standing_hold, undo


@app.command()
def rollback(
    table: RequiredTable,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do; nothing is touched.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take the last maintenance back: main goes to the snapshot before it. Refused over anything else that is there.

    One commit at a time. To go back over changes of rows: iceberg-assets call rollback_to_snapshot.
    """
    spec, found = known(table, profile)
    back = (last_maintenance if dry_run else undo)(found, spec)
    _tell(
        as_json,
        f"main {'would be' if dry_run else 'was'} put back to {back.parent_id} from {back.words}",
        # As text: a JSON reader may round numbers of 64 bits.
        {"snapshot_id": str(back.snapshot_id), "parent_id": str(back.parent_id), "done": not dry_run},
    )


@app.command()
def hold(
    table: RequiredTable,
    end: Annotated[bool, typer.Option("--release", help="You have looked: maintenance may go on.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Why a table is on hold: a rewrite changed its rows, and could not be taken back."""
    spec, found = known(table, profile)
    standing = (release if end else standing_hold)(found, spec)
    words = f"{'released; it was' if end else 'on hold:'} {standing.holder}" if standing else "not on hold"
    _tell(as_json, f"{spec.name}: {words}", {"on_hold": standing is not None and not end, "reason": words})


def _tell(as_json: bool, words: str, record: dict[str, Any]) -> None:
    if as_json:
        print_json(record)
    else:
        typer.echo(words)
