"""The operations: what is done to a table, and its outcome measured from the metadata before and after."""

from iceberg_assets.maintenance.compact import compact, foretell_compaction
from iceberg_assets.maintenance.expire import expire_snapshots
from iceberg_assets.maintenance.maintained import Maintained, health_of
from iceberg_assets.maintenance.manifests import rewrite_manifests
from iceberg_assets.maintenance.orphans import remove_orphans

__all__ = [
    "Maintained",
    "compact",
    "expire_snapshots",
    "foretell_compaction",
    "health_of",
    "remove_orphans",
    "rewrite_manifests",
]
