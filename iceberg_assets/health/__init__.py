"""How a table is, read without a JVM, and what should be done about it."""

from iceberg_assets.health.by_date import health_by_date
from iceberg_assets.health.cache import ManifestCache
from iceberg_assets.health.decision import Plan, Request, Waiting
from iceberg_assets.health.expiry import LEASE_PREFIX, expirable, expire_arguments, pinned_by
from iceberg_assets.health.facts import (
    DataFile,
    DateHealth,
    DeleteFile,
    Grain,
    Group,
    Manifest,
    Ref,
    Snapshot,
    TableHealth,
)
from iceberg_assets.health.hold import HELD, Doubted, on_hold
from iceberg_assets.health.manifests import ManifestsDue, manifests_due
from iceberg_assets.health.outside import outside
from iceberg_assets.health.plan import plan
from iceberg_assets.health.pointers import metadata_pointers
from iceberg_assets.health.read import read_health
from iceberg_assets.health.rewrite_rule import Rule, groups, rule
from iceberg_assets.health.unit import Unit, compaction_unit
from iceberg_assets.health.upkeep_due import REST

__all__ = [
    "HELD",
    "LEASE_PREFIX",
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
    "TableHealth",
    "Unit",
    "Waiting",
    "compaction_unit",
    "expirable",
    "expire_arguments",
    "groups",
    "health_by_date",
    "manifests_due",
    "metadata_pointers",
    "on_hold",
    "outside",
    "pinned_by",
    "plan",
    "read_health",
    "rule",
]
