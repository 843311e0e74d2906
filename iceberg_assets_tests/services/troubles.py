"""What networks and services do to an append and a compaction that are under way, and what becomes of them.

The catalog is SeaweedFS's REST catalog by OAuth with its store, each behind a proxy of its own. A trouble lasts 20 s,
and less where the operation ends before it. That may be a failure, which has to come soon, to name profile and key, and
to show no secret; or success, after retries. Either way the next try finds every row once, and nothing stays behind.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.maintenance import Asked, maintain
from iceberg_assets.maintenance.lease import standing_lease
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Operation, Status
from iceberg_assets.tables import append
from iceberg_assets.tables.claims import CLAIM_DEADLINE
from iceberg_assets.tables.recover import recover, utc_now
from iceberg_assets_tests.services.catalogs import PROFILE, RAW_ON_S3, Catalog, Running, project, rest_settings
from iceberg_assets_tests.services.cells import Cell, Suite, secrets
from iceberg_assets_tests.services.process import SECRET
from iceberg_assets_tests.services.proxy import Proxy, proxy
from iceberg_assets_tests.services.seaweedfs import seaweedfs
from iceberg_assets_tests.services.world import D1

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 20
"""Of a trouble."""

_ENDS_WITHIN = 240
"""Seconds that an operation may take in trouble: its retries are bounded."""

_RELEASED_WITHIN = 30
"""Seconds after which nobody holds a table any more: a tenth of what a lease lasts by itself."""


@dataclass(frozen=True)
class Troubled(Running):
    """A catalog and a store behind proxies.

    Attributes:
        proxies: by the section of the profile.
    """

    proxies: Mapping[str, Proxy] = field(default_factory=dict)


@contextmanager
def behind_proxies(folder: Path) -> Iterator[Running]:
    """SeaweedFS's REST catalog and its store, each by a proxy."""
    with ExitStack() as up:
        store = up.enter_context(seaweedfs(folder / "store", SECRET))
        to_store = up.enter_context(proxy(store.endpoint))
        # SeaweedFS tells clients of a table where its store is, and to that Spark's S3FileIO goes.
        to_catalog = up.enter_context(proxy(store.rest, {store.endpoint: to_store.address}))
        catalog = rest_settings(store, "oauth") | {
            "uri": to_catalog.address,
            "oauth2_server_uri": f"{to_catalog.address}/v1/oauth/tokens",
        }
        root = project(folder, catalog, store, endpoint=to_store.address)
        service, proxies = store.service, {"catalog": to_catalog, "store": to_store}
        yield Troubled(root, RAW_ON_S3, lambda _: "", service.stop, service.start, store, proxies=proxies)


BEHIND_PROXIES = Catalog("troubles", "rest, OAuth, behind proxies", behind_proxies)


# Before anything is under way


def _profile(suite: Suite, key: str, value: str) -> Profile:
    """The profile with one key, dotted, given another value; the profile is called after the key."""
    file = suite.world.root / "profiles" / f"{PROFILE}.yaml"
    settings = yaml.safe_load(file.read_text())
    section, _, name = key.partition(".")
    settings[section][name] = value
    changed = key.replace(".", "-")
    file.with_name(f"{changed}.yaml").write_text(yaml.safe_dump(settings))
    return load_profile(changed, suite.world.root)


def wrong(key: str, value: str, says: str) -> Callable[[Suite], str]:
    """An append by a profile with one wrong key ends in a sentence that names the profile and the key."""

    def run(suite: Suite) -> str:
        suite.events.land(D1, "first", [1])
        profile = _profile(suite, key, value)
        began = time.monotonic()
        said = _appended(suite, profile)
        assert said is not None, "it succeeded"
        assert time.monotonic() - began < _ENDS_WITHIN
        _clear(suite, said, profile.name, says)
        return said

    return run


# While an append is under way


def append_during(where: str, what: int | str, after: str, to: bytes = b"") -> Callable[[Suite], str]:
    """An append meets a trouble after one of its steps; whatever that makes of it, in the end each row is there once.

    Args:
        where: the service.
        what: of :meth:`Proxy.trouble`, and so is ``to``.
        after: one of ``publish.STEPS``.
    """

    def run(suite: Suite) -> str:
        events, met = suite.events, _proxy(suite, where)
        before = events.by_pyiceberg()
        number = before[-1] + 1
        events.land(D1, f"{where}-{what}-{after}", [number])
        count, began = met.met.total(), time.monotonic()

        def begin(step: str) -> None:
            if step == after:
                met.trouble(what, SECONDS, to=to)

        try:
            said = _appended(suite, suite.world.profile, begin)
        finally:
            met.calm()
        assert met.met.total() > count, f"the trouble was not met: {said}"
        seconds = time.monotonic() - began
        assert seconds < _ENDS_WITHIN
        if said:
            _clear(suite, said, PROFILE, where)
            assert events.by_pyiceberg() in (before, [*before, number])
        assert _appended(suite, suite.world.profile) is None
        assert events.by_pyiceberg() == [*before, number] == events.by_spark()
        return f"{said or 'done'} ({seconds:.0f} s)"

    return run


def compaction_during(where: str, what: int | str, to: bytes = b"") -> Callable[[Suite], str]:
    """A compaction meets a trouble while it reads and commits; the rows stay as they are, and the next one is done."""

    def run(suite: Suite) -> str:
        events, met, world = suite.events, _proxy(suite, where), suite.world
        number = events.by_pyiceberg()[-1] + 1
        # Two are due, by the table's min-input-files.
        for more in range(2):
            events.land(D1, f"compact-{where}-{what}-{more}", [number + more])
            assert _appended(suite, world.profile) is None
        before, count, began = events.by_pyiceberg(), met.met.total(), time.monotonic()
        asked = Asked((D1,), datetime.now(UTC), {}, force=True)

        @cache
        def session() -> "SparkSession":
            # It is asked for after the lease is taken and before the first statement.
            met.trouble(what, SECONDS, to=to)
            return world.spark

        try:
            outcome = maintain(Operation.COMPACT, session, world.profile, events.spec, asked).outcomes[D1]
            said = "" if outcome.status is Status.DONE else outcome.reason
        except IcebergAssetsError as error:
            said = str(error)
        finally:
            met.calm()
        assert met.met.total() > count, f"the trouble was not met: {said}"
        seconds = time.monotonic() - began
        assert seconds < _ENDS_WITHIN
        if said:
            _clear(suite, said, PROFILE, where)
        assert events.by_pyiceberg() == before == events.by_spark()
        _wait_for_the_lease(suite)
        done = maintain(Operation.COMPACT, lambda: world.spark, world.profile, events.spec, asked).outcomes[D1]
        assert done.status in (Status.DONE, Status.NOTHING_TO_DO), done.reason
        assert events.by_pyiceberg() == before
        return f"{said or 'done'} ({seconds:.0f} s)"

    return run


def _wait_for_the_lease(suite: Suite) -> None:
    """A release that the trouble kept from arriving comes soon after it, and not when the lease ends by itself."""
    table = suite.world.profile.pyiceberg().load_table(suite.events.spec.table)
    deadline = time.monotonic() + _RELEASED_WITHIN
    while standing_lease(suite.world.profile, str(table.metadata.table_uuid)) is not None:
        assert time.monotonic() < deadline, "the lease stands"
        time.sleep(0.5)


def undisturbed(suite: Suite) -> None:
    """The file that no profile with a wrong key could append."""
    suite.events.land(D1, "first", [1])
    assert _appended(suite, suite.world.profile) is None
    assert suite.events.by_pyiceberg() == suite.events.by_spark() == [1]


def nothing_left(suite: Suite) -> None:
    """Once the time of every claim is over, the next recovery leaves none open and no branch; nobody has the lease."""
    events, profile = suite.events, suite.world.profile
    recovered = recover(profile, events.spec, now=lambda: utc_now() + 2 * CLAIM_DEADLINE)
    assert recovered is not None
    assert recovered.state.open == ()
    table = profile.pyiceberg().load_table(events.spec.table)
    assert set(table.refs()) == {"main"}
    assert standing_lease(profile, str(table.metadata.table_uuid)) is None


def _proxy(suite: Suite, where: str) -> Proxy:
    running = suite.world.running
    assert isinstance(running, Troubled)
    return running.proxies[where]


def _appended(suite: Suite, profile: Profile, on_step: Callable[[str], None] | None = None) -> str | None:
    """What an append says where it fails; None where it does not."""
    try:
        outcome = append(lambda: suite.world.spark, profile, suite.events.spec, [D1], on_step=on_step)[D1]
        said = None if outcome.status is not Status.FAILED else outcome.reason
    except IcebergAssetsError as error:
        said = str(error)
    suite.world.said.append(str(said))
    return said


def _clear(suite: Suite, said: str, profile: str, key: str) -> None:
    assert f"profile '{profile}'" in said, said
    assert key in said, said
    assert SECRET not in said


_NOWHERE = "http://127.0.0.1:9"
_REFUSED, _CUT, _SLOW = "connections are refused", "answers end in the middle", "each piece of an answer comes late"
_ERRORS, _PATIENCE, _UNAVAILABLE = "it answers with errors", "it asks for patience", "it is not available"
_LOST = "what is sent arrives, and the answers do not"
# Of the catalog's bucket, and none to its OAuth.
_TABLES, _COMMITS = b" /v1/tables/", b"POST /v1/tables/"

_FIRST = Cell("no trouble", "what is wrong before anything is under way leaves nothing behind", undisturbed)
_LAST = (
    Cell("left behind", "no open claim, branch or lease, once their time is over", nothing_left),
    Cell("no secret", "in errors, events, logs, JSON and Spark's event log", secrets),
)


def _appends(where: str, *troubles: tuple[str, str, int | str, str, bytes]) -> Iterator[Cell]:
    for name, means, what, after, to in troubles:
        yield Cell(name, f"{means}, from the step `{after}` on", append_during(where, what, after, to))


CELLS: Mapping[str, tuple[Cell, ...]] = {
    "troubles-catalog": (
        Cell("wrong secret", "OAuth refuses the client", wrong("catalog.credential", "admin:no", "credential")),
        Cell("wrong address", "nobody listens there", wrong("catalog.uri", _NOWHERE, "uri")),
        Cell("no such bucket", "the catalog has none of it", wrong("catalog.warehouse", "s3://nothere", "catalog")),
        _FIRST,
        *_appends(
            "catalog",
            ("401", "the token is not taken any more", 401, "claimed", _TABLES),
            ("429", _PATIENCE, 429, "claimed", b""),
            ("500", _ERRORS, 500, "checked", b""),
            ("503", _UNAVAILABLE, 503, "reread", b""),
            ("away", _REFUSED, "refused", "branched", b""),
            ("slow", _SLOW, "slow", "claimed", b""),
            ("cut", _CUT, "cut", "reread", b""),
            ("lost answers", _LOST, "lost", "checked", _COMMITS),
        ),
        *_LAST,
    ),
    "troubles-store": (
        Cell("wrong secret", "the store refuses the key", wrong("store.secret_key", "another", "store")),
        Cell("wrong address", "nobody listens there", wrong("store.endpoint", _NOWHERE, "store")),
        _FIRST,
        *_appends(
            "store",
            ("500", _ERRORS, 500, "branched", b""),
            ("503", _PATIENCE, 503, "claimed", b""),
            ("away", _REFUSED, "refused", "reread", b""),
            ("slow", _SLOW, "slow", "claimed", b""),
            ("cut", _CUT, "cut", "branched", b""),
        ),
        *_LAST,
    ),
    "troubles-compaction": (
        Cell("begun", "the table that is compacted", undisturbed),
        Cell("catalog: 503", _UNAVAILABLE, compaction_during("catalog", 503)),
        Cell("catalog: lost answers", _LOST, compaction_during("catalog", "lost", _COMMITS)),
        Cell("store: 503", _PATIENCE, compaction_during("store", 503)),
        Cell("store: cut", _CUT, compaction_during("store", "cut")),
        *_LAST,
    ),
}
"""By suite: of the catalog and of the store while something is appended, and of both while the table is compacted."""
