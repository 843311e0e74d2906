"""Whether ``rewrite_manifests`` pays. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_assets.health.facts import Manifest, TableHealth
from iceberg_assets.health.properties import whole_number
from iceberg_assets.spec.policy import Manifests
from iceberg_assets.spec.units import format_count

_DEFAULT_TARGET = 8 * 1024**2


@dataclass(frozen=True)
class ManifestsDue:
    """Whether a rewrite is due, and the numbers behind that."""

    due: bool
    reason: str


def manifests_due(policy: Manifests, health: TableHealth) -> ManifestsDue:
    """Due from ``min_count`` data manifests on, where a rewrite at least halves them.

    Those of the current partition spec count alone: ``rewrite_manifests`` leaves the others as they are. It writes
    manifests of ``commit.manifest.target-size-bytes`` (8 MB).

    Raises:
        ConfigurationError: that property is no number.
    """
    found = [one for one in health.manifests if one.content == "data" and one.spec_id == health.spec_id]
    if len(found) < policy.min_count:
        return ManifestsDue(False, f"{format_count(len(found), 'manifest')}, due from {policy.min_count}")
    after = manifests_after(health, found)
    reason = f"{format_count(len(found), 'manifest')} would become {after}"
    if 2 * after > len(found):
        return ManifestsDue(False, f"{reason}, which is not half of them")
    return ManifestsDue(True, reason)


def manifests_after(health: TableHealth, manifests: Iterable[Manifest]) -> int:
    """How many manifests of the target size these become."""
    target = whole_number(health.properties, "commit.manifest.target-size-bytes", _DEFAULT_TARGET, least=1)
    return -(-sum(one.size for one in manifests) // target)
