"""A table's declaration, put where the command line looks for one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def declare(project: Path, folder: str, attributes: Mapping[str, Any]) -> None:
    """Write it to a folder of its own below the project's ``defs``."""
    file = project / "defs" / folder / "defs.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump({"type": "iceberg_assets.IcebergTable", "attributes": dict(attributes)}))
