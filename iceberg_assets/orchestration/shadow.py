"""Why a sensor asks for nothing though something is due, and what it writes down instead."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import dagster as dg

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import Request
from iceberg_assets.history import Recorder, Who, shadow_records
from iceberg_assets.orchestration.table_asset import TableAsset

SHADOW = "planned only, since the profile says shadow"


def kept_back(table: TableAsset) -> str | None:
    """Why no run is asked for: the profile is a shadow, or this place may not write to it. None: runs may come."""
    if table.profile.shadow:
        return SHADOW
    try:
        table.profile.require_writable()
    except ConfigurationError as refusal:
        return str(refusal)
    return None


def record_plans(
    context: dg.SensorEvaluationContext,
    table: TableAsset,
    snapshot_id: int | None,
    due: Mapping[str, Request],
    written: Collection[str],
) -> list[str]:
    """Write what a shadow would have asked for into the history, each need once.

    Args:
        due: by run key, which stands for one need in one state of the table.
        written: the run keys of which that was done already.

    Returns:
        The run keys to remember.
    """
    new = {key: request for key, request in due.items() if key not in written}
    if new:
        who, now = Who.here(table.profile, "sensor tick"), datetime.now(UTC)
        with Recorder(table.profile, who, batch=len(new) + 1, tell=context.log.warning) as recorder:
            for request in new.values():
                recorder.add(shadow_records(table.spec, request, snapshot_id, who, now))
    return sorted(due)
