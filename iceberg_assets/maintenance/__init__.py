"""The operations: what is done to a table, and its outcome measured from the metadata before and after."""

from iceberg_assets.maintenance.call import Called, call_procedure, foretell_call
from iceberg_assets.maintenance.compact import compact, foretell_compaction
from iceberg_assets.maintenance.expire import expire_snapshots, foretell_expiry
from iceberg_assets.maintenance.gc_enabled import BEFORE as GC_BEFORE
from iceberg_assets.maintenance.lease import LeaseTakenError, release, standing_hold
from iceberg_assets.maintenance.maintain import OFFERED, Asked, foretell, maintain, procedure_of
from iceberg_assets.maintenance.maintained import Maintained, at_work, health_of
from iceberg_assets.maintenance.manifests import foretell_manifests, rewrite_manifests
from iceberg_assets.maintenance.orphans import foretell_orphans, remove_orphans
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.maintenance.rewritten import Rewritten, rewritten
from iceberg_assets.maintenance.undo import UndoRefusedError, last_maintenance, undo

__all__ = [
    "GC_BEFORE",
    "OFFERED",
    "Asked",
    "Called",
    "LeaseTakenError",
    "Maintained",
    "Preview",
    "Rewritten",
    "UndoRefusedError",
    "at_work",
    "call_procedure",
    "compact",
    "expire_snapshots",
    "foretell",
    "foretell_call",
    "foretell_compaction",
    "foretell_expiry",
    "foretell_manifests",
    "foretell_orphans",
    "health_of",
    "last_maintenance",
    "maintain",
    "procedure_of",
    "release",
    "remove_orphans",
    "rewrite_manifests",
    "rewritten",
    "standing_hold",
    "undo",
]
