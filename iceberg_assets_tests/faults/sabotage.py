"""The parts of the protocol switched off, to see that the harness notices. Not an option of the product."""

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest.mock import patch

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables import publish
from iceberg_assets.tables.claims import Claim
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.lineage import Lineage
from iceberg_assets.tables.recover import Recovered
from iceberg_assets.tables.target import load_target

# By its path: the package has a function of that name.
_APPEND = importlib.import_module("iceberg_assets.tables.append")


def _without_recovery() -> list[Any]:
    """Claims without an end are nobody's business. Fewer rounds, since each of them stages the files in vain."""
    return [
        patch.object(_APPEND, "recover", _only_look),
        patch.object(publish, "recover", _only_look),
        patch.object(publish, "_ROUNDS", 2),
    ]


def _only_look(profile: Profile, spec: TableSpec, **_: Any) -> Recovered | None:
    table = load_target(profile, spec)
    if table is None:
        return None
    ledger = Ledger(profile, spec, str(table.metadata.table_uuid))
    return Recovered(ledger, ledger.read(), Lineage(table.metadata))


def _without_token() -> list[Any]:
    """Each claim has a token of its own, so that Iceberg refuses none."""
    return [patch.object(Claim, "token", property(lambda claim: f"{claim.table_uuid}/{claim.n}/{claim.id}"))]


def _without_reread() -> list[Any]:
    """What was read before the claim is good for ever."""
    return [patch.object(publish, "moved", lambda *_: False)]


_PARTS: dict[str, Callable[[], list[Any]]] = {
    "recovery": _without_recovery,
    "token": _without_token,
    "reread": _without_reread,
}


@contextlib.contextmanager
def switched_off(parts: Iterable[str]) -> Iterator[None]:
    """Run without these parts of the protocol: ``recovery``, ``token``, ``reread``."""
    with contextlib.ExitStack() as patches:
        for part in parts:
            for one in _PARTS[part]():
                patches.enter_context(one)
        yield
