"""What networks and services do to an append and a compaction that are under way, and what becomes of them.

The catalog is SeaweedFS's REST catalog by OAuth with its store, each behind a proxy of its own. A trouble lasts 20 s.
It may end in a failure, which has to come soon, to name profile and key, and to show no secret; or in success, after
retries. Either way the next try finds every row once.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.maintenance import Asked, maintain
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Operation, Status
from iceberg_assets.tables import append
from iceberg_assets_tests.services.catalogs import PROFILE, RAW_ON_S3, Catalog, Running, project, rest_settings
from iceberg_assets_tests.services.cells import Cell, Suite, secrets
from iceberg_assets_tests.services.process import SECRET
from iceberg_assets_tests.services.proxy import Proxy, proxy
from iceberg_assets_tests.services.seaweedfs import seaweedfs
from iceberg_assets_tests.services.world import D1

SECONDS = 20
"""Of a trouble."""

_ENDS_WITHIN = 240
"""Seconds that an operation may take in trouble: its retries are bounded."""


@dataclass(frozen=True)
class Troubled(Running):
    """A catalog behind proxies."""

    proxies: Mapping[str, Proxy] | None = None


@contextmanager
def behind_proxies(folder: Path) -> Iterator[Running]:
    """SeaweedFS's REST catalog and its store, each by a proxy."""
    with ExitStack() as up:
        store = up.enter_context(seaweedfs(folder / "store", SECRET))
        proxies = {"catalog": up.enter_context(proxy(store.rest)), "store": up.enter_context(proxy(store.endpoint))}
        catalog = rest_settings(store, "oauth") | {
            "uri": proxies["catalog"].address,
            "oauth2_server_uri": f"{proxies['catalog'].address}/v1/oauth/tokens",
        }
        root = project(folder, catalog, store, endpoint=proxies["store"].address)
        yield Troubled(root, RAW_ON_S3, lambda _: "", store.service.stop, store.service.start, store, proxies)


TROUBLES = Catalog("troubles", "rest, OAuth, behind proxies", behind_proxies)


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


def append_during(where: str, what: int | str, to: bytes = b"") -> Callable[[Suite], str]:
    """An append meets a trouble after its claim; whatever that makes of it, in the end each row is there once."""

    def run(suite: Suite) -> str:
        events, met = suite.events, _proxy(suite, where)
        number = len(suite.world.said) + 100
        events.land(D1, f"{where}-{what}", [number])
        before, count, began = events.by_pyiceberg(), met.met.total(), time.monotonic()

        def begin(step: str) -> None:
            if step == "claimed":
                met.trouble(what, SECONDS, to=to)

        try:
            said = _appended(suite, suite.world.profile, begin)
        finally:
            met.calm()
        assert met.met.total() > count, "the trouble was not met"
        seconds = time.monotonic() - began
        assert seconds < _ENDS_WITHIN
        if said:
            _clear(suite, said, PROFILE, "store" if where == "store" else "catalog")
            assert events.by_pyiceberg() in (before, [*before, number])
        assert _appended(suite, suite.world.profile) is None
        assert events.by_pyiceberg() == [*before, number] == events.by_spark()
        return f"{said or 'done, after retries'} ({seconds:.0f} s)"

    return run


def compaction_during(where: str, what: int | str) -> Callable[[Suite], str]:
    """A compaction meets a trouble while it reads and commits."""

    def run(suite: Suite) -> str:
        events, met, world = suite.events, _proxy(suite, where), suite.world
        for number in range(5):
            events.land(D1, f"compact-{where}-{what}-{number}", [10_000 + number])
            assert _appended(suite, world.profile) is None
        before, began = events.by_pyiceberg(), time.monotonic()
        asked = Asked((D1,), datetime.now(UTC), {}, force=True)
        # The session is asked for after the lease is taken and before the first statement.
        session = lambda: (met.trouble(what, SECONDS), world.spark)[1]  # noqa: E731
        try:
            outcome = maintain(Operation.COMPACT, session, world.profile, events.spec, asked).outcomes[D1]
            said = "" if outcome.status is Status.DONE else outcome.reason
        except IcebergAssetsError as error:
            said = str(error)
        finally:
            met.calm()
        seconds = time.monotonic() - began
        assert seconds < _ENDS_WITHIN
        if said:
            _clear(suite, said, PROFILE, where)
        assert events.by_pyiceberg() == before == events.by_spark()
        done = maintain(Operation.COMPACT, lambda: world.spark, world.profile, events.spec, asked).outcomes[D1]
        assert done.status in (Status.DONE, Status.NOTHING_TO_DO), done.reason
        assert events.by_pyiceberg() == before
        return f"{said or 'done, after retries'} ({seconds:.0f} s)"

    return run


def undisturbed(suite: Suite) -> None:
    """The file that no profile with a wrong key could append."""
    assert _appended(suite, suite.world.profile) is None
    assert suite.events.by_pyiceberg() == suite.events.by_spark() == [1]


def _proxy(suite: Suite, where: str) -> Proxy:
    running = suite.world.running
    assert isinstance(running, Troubled)
    assert running.proxies is not None
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
CELLS: tuple[Cell, ...] = (
    Cell("catalog: wrong secret", "OAuth refuses the client", wrong("catalog.credential", "admin:no", "credential")),
    Cell("catalog: wrong address", "nobody listens there", wrong("catalog.uri", _NOWHERE, "uri")),
    Cell("store: wrong secret", "the store refuses the key", wrong("store.secret_key", "another", "store")),
    Cell("store: wrong address", "nobody listens there", wrong("store.endpoint", _NOWHERE, "store")),
    Cell("warehouse: no such bucket", "the catalog has no such", wrong("catalog.warehouse", "s3://nothere", "catalog")),
    Cell("no trouble", "none of these has left anything behind", undisturbed),
    Cell("store: slow", "each piece of an answer comes late", append_during("store", "slow")),
    Cell("catalog: 401", "the token has expired in the middle", append_during("catalog", 401)),
    Cell("catalog: 429", "it asks for patience", append_during("catalog", 429)),
    Cell("catalog: 500", "it answers with errors", append_during("catalog", 500)),
    Cell("catalog: 503", "it is not available", append_during("catalog", 503)),
    Cell("catalog: away", "connections are refused", append_during("catalog", "refused")),
    Cell("catalog: slow", "each piece of an answer comes late", append_during("catalog", "slow")),
    Cell("catalog: cut", "answers end in the middle", append_during("catalog", "cut")),
    Cell("catalog: lost answers", "commits arrive, answers do not", append_during("catalog", "lost", b"POST /v1/")),
    Cell("store: 500", "it answers with errors", append_during("store", 500)),
    Cell("store: 503", "it asks for patience", append_during("store", 503)),
    Cell("store: away", "connections are refused", append_during("store", "refused")),
    Cell("store: cut", "answers end in the middle", append_during("store", "cut")),
    Cell("compaction, catalog: 503", "it is not available", compaction_during("catalog", 503)),
    Cell("compaction, store: 503", "it asks for patience", compaction_during("store", 503)),
    Cell("no secret", "in errors, events, logs, JSON and Spark's event log", secrets),
)
