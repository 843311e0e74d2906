"""What ``workspace.yaml`` loads: everything that is declared under ``defs/``."""

from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    """The project's tables and sensors, every run in one process, so that it has one Spark session."""
    declared = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    return dg.Definitions.merge(declared, dg.Definitions(executor=dg.in_process_executor))
