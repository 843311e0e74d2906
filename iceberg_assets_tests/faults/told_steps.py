"""The steps of maintenance, told from outside: the product has no hooks for it."""

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from iceberg_assets.maintenance import core, engine, lease, maintained
from iceberg_assets.maintenance.lease_table import LeaseRow, write_lease, write_next

LEASED, RELEASING = "leased", "releasing"


@contextlib.contextmanager
def telling(step: Callable[[str], None], lasts: timedelta) -> Iterator[None]:
    """Tell each step of the maintenance in this block, after it; the release of the lease before it.

    Statements are told by the procedure that they call, or by their first words; what is asked of Iceberg's library by
    its name there.

    Args:
        lasts: so long the lease of a killed one stands.
    """
    told: set[str] = set()

    def once(name: str) -> None:
        if name not in told:
            told.add(name)
            step(name)

    def write(profile: Any, row: LeaseRow) -> None:
        if row.event == "released":
            once(RELEASING)
        write_lease(profile, row)

    def take(*given: Any) -> LeaseRow:
        row = write_next(*given)
        once(LEASED)
        return row

    rewrite_manifests, expire, reachable = core.rewrite_manifests, core.expire, core.reachable

    def manifests_rewritten(*given: Any) -> None:
        rewrite_manifests(*given)
        once("rewrite_manifests")

    def expired(*given: Any, **more: Any) -> None:
        expire(*given, **more)
        once("expire_snapshots")

    def reached(*given: Any) -> Iterator[str]:
        yield from reachable(*given)
        once("reachable")

    real = engine.execute

    def execute(*given: Any) -> Any:
        found = real(*given)
        procedure = re.search(r"system\.(\w+)\(", given[1])
        once(procedure[1] if procedure else "create branch" if "CREATE BRANCH" in given[1] else "drop branch")
        return found

    with contextlib.ExitStack() as patches:
        patches.enter_context(patch.object(lease, "write_lease", write))
        patches.enter_context(patch.object(lease, "write_next", take))
        patches.enter_context(patch.object(maintained, "lease", functools.partial(lease.lease, lasts=lasts)))
        patches.enter_context(patch.object(core, "rewrite_manifests", manifests_rewritten))
        patches.enter_context(patch.object(core, "expire", expired))
        patches.enter_context(patch.object(core, "reachable", reached))
        for name, module in list(sys.modules.items()):
            if name.startswith("iceberg_assets.maintenance.") and getattr(module, "execute", None) is real:
                patches.enter_context(patch.object(module, "execute", execute))
        yield
