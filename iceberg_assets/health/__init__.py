"""How a table is, read without a JVM, and what should be done about it."""

from iceberg_assets.health.by_date import health_by_date
from iceberg_assets.health.cache import ManifestCache
from iceberg_assets.health.decision import Plan, Request, Waiting
from iceberg_assets.health.deletes import dangling_deletes, dropped_with
from iceberg_assets.health.expiry import expirable, expire_arguments, pinned_by
from iceberg_assets.health.facts import (
    DataFile,
    DateHealth,
    DeleteFile,
    Grain,
    Group,
    Manifest,
    Ref,
    Snapshot,
    SpecField,
    TableHealth,
)
from iceberg_assets.health.hold import Doubted, on_hold
from iceberg_assets.health.manifests import ManifestsDue, manifests_after, manifests_due
from iceberg_assets.health.outside import outside
from iceberg_assets.health.plan import plan
from iceberg_assets.health.pointers import metadata_pointers, open_catalog
from iceberg_assets.health.position_deletes import position_delete_groups
from iceberg_assets.health.read import read_health
from iceberg_assets.health.respec import files_after_respec
from iceberg_assets.health.rewrite_rule import Rule, groups, rule
from iceberg_assets.health.unit import Unit, compaction_unit, grain_of
from iceberg_assets.health.upkeep_due import REST

__all__ = [
    "REST",
    "DataFile",
    "DateHealth",
    "DeleteFile",
    "Doubted",
    "Grain",
    "Group",
    "Manifest",
    "ManifestCache",
    "ManifestsDue",
    "Plan",
    "Ref",
    "Request",
    "Rule",
    "Snapshot",
    "SpecField",
    "TableHealth",
    "Unit",
    "Waiting",
    "compaction_unit",
    "dangling_deletes",
    "dropped_with",
    "expirable",
    "expire_arguments",
    "files_after_respec",
    "grain_of",
    "groups",
    "health_by_date",
    "manifests_after",
    "manifests_due",
    "metadata_pointers",
    "on_hold",
    "open_catalog",
    "outside",
    "pinned_by",
    "plan",
    "position_delete_groups",
    "read_health",
    "rule",
]
