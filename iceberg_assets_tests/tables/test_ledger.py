"""What a ledger's events add up to, and the table that they are kept in."""

import random
import threading
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_assets.errors import ConfigurationError, SourceError
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Event, LedgerRow, LedgerState
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.ledger_table import of_days, to_arrow
from iceberg_assets.tables.source import RawFile
from iceberg_assets_tests.tables.helpers import D1, D2, Feed

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
UUID = "f00d"


def raw(name: str, day: date = D1, size: int = 10, version: str = "1") -> RawFile:
    return RawFile(f"/raw/{day}/{name}.parquet", size, version, day)


def claimed(claim: str, *files: RawFile, n: int = 0, at: datetime = NOON) -> list[LedgerRow]:
    return [
        LedgerRow(Event.CLAIMED, claim, UUID, at, n, at + CLAIM_DEADLINE, file.day, file.path, file.size, file.version)
        for file in files
    ]


def ended(event: Event, claim: str, snapshot_id: int | None = None, at: datetime = NOON) -> LedgerRow:
    return LedgerRow(event, claim, UUID, at, snapshot_id=snapshot_id)


def test_a_claim_is_open_until_it_ends() -> None:
    state = LedgerState.of(claimed("c", raw("a"), raw("b", D2), n=3))
    (claim,) = state.open
    assert claim.files == (raw("a"), raw("b", D2))
    assert (claim.n, claim.token, claim.deadline) == (3, "f00d/3", NOON + CLAIM_DEADLINE)
    assert (state.batches, state.confirmed, state.ends) == (0, {}, {})
    for event in (Event.CONFIRMED, Event.ABANDONED, Event.WITHDRAWN):
        assert not LedgerState.of([*claimed("c", raw("a")), ended(event, "c", 1)]).open


def test_only_confirmed_files_are_seen() -> None:
    rows = [*claimed("c", raw("a")), ended(Event.CONFIRMED, "c", 7), *claimed("d", raw("b"))]
    state = LedgerState.of([*rows, *claimed("e", raw("c")), ended(Event.WITHDRAWN, "e")])
    assert state.unseen([raw("a"), raw("b"), raw("c"), raw("d")]) == (raw("b"), raw("c"), raw("d"))
    assert (state.batches, state.snapshots) == (1, {"c": 7})


def test_confirmed_outweighs_abandoned_in_any_order() -> None:
    """A pick may arrive after its claim was taken for dead; a late withdrawal changes nothing either."""
    ends = [
        ended(Event.ABANDONED, "c", at=NOON + timedelta(hours=1)),
        ended(Event.CONFIRMED, "c", 7, at=NOON + timedelta(hours=2)),
        ended(Event.WITHDRAWN, "c", at=NOON + timedelta(hours=3)),
    ]
    for _ in range(6):
        random.shuffle(ends)
        state = LedgerState.of([*claimed("c", raw("a")), *ends])
        assert (state.batches, state.abandoned, list(state.confirmed)) == (1, (), [raw("a").path])


def test_withdrawn_outweighs_abandoned_in_any_order() -> None:
    """A runner taken for dead that gives its claim up is not watched any longer."""
    ends = [ended(Event.ABANDONED, "c"), ended(Event.WITHDRAWN, "c", at=NOON + timedelta(minutes=1))]
    for order in (ends, ends[::-1]):
        state = LedgerState.of([*claimed("c", raw("a")), *order])
        assert (state.open, state.abandoned, state.ends) == ((), (), {"c": Event.WITHDRAWN})


def test_a_batch_without_a_snapshot_takes_no_token() -> None:
    state = LedgerState.of([*claimed("c", raw("a")), ended(Event.CONFIRMED, "c", None)])
    assert (state.batches, list(state.confirmed)) == (0, [raw("a").path])


def test_confirmed_twice_counts_once() -> None:
    """Two recoveries may find the same claim in main."""
    state = LedgerState.of([*claimed("c", raw("a")), ended(Event.CONFIRMED, "c", 7), ended(Event.CONFIRMED, "c", 7)])
    assert state.batches == 1


@pytest.mark.parametrize("change", [{"size": 11}, {"version": "2"}])
def test_a_replaced_file_is_named(change: dict[str, int | str]) -> None:
    state = LedgerState.of([*claimed("c", raw("a")), ended(Event.CONFIRMED, "c", 7)])
    changed = RawFile(**{**vars(raw("a")), **change})
    with pytest.raises(SourceError, match=r"a\.parquet was replaced after its rows were appended"):
        state.unseen([changed])


EVENTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([Event.CONFIRMED, Event.ABANDONED, Event.WITHDRAWN])), max_size=8
)


@given(EVENTS)
def test_every_claim_is_in_exactly_one_place(events: list[tuple[str, Event]]) -> None:
    rows = [row for n, claim in enumerate("abcd") for row in claimed(claim, raw(claim), n=n)]
    rows += [ended(event, claim, 1, NOON + timedelta(minutes=n)) for n, (claim, event) in enumerate(events)]
    state = LedgerState.of(rows)
    withdrawn = [claim for claim, end in state.ends.items() if end is Event.WITHDRAWN]
    places = [
        *(claim.id for claim in state.open),
        *(claim.id for claim, _ in state.abandoned),
        *state.snapshots,
        *withdrawn,
    ]
    assert sorted(places) == list("abcd")
    assert state.batches == max((n + 1 for n, claim in enumerate("abcd") if claim in state.snapshots), default=0)


def test_numbers_go_on_from_what_a_table_carried_whose_ledger_was_lost() -> None:
    adopted = [*claimed("a", raw("a"), n=7), ended(Event.ADOPTED, "a", 1)]
    assert LedgerState.of(adopted).batches == 7
    assert LedgerState.of([*adopted, *claimed("b", raw("b"), n=7), ended(Event.CONFIRMED, "b", 2)]).batches == 8


def test_the_ledger_keeps_what_was_written(feed: Feed) -> None:
    ledger = Ledger(feed.profile, feed.spec, UUID)
    assert ledger.read() == LedgerState()
    claim = ledger.claim(0, [raw("a"), raw("b", D2)], NOON)
    assert ledger.read().open == (claim,)
    ledger.confirm(claim, 2**62, NOON)
    assert ledger.read().snapshots == {claim.id: 2**62}
    assert Ledger(feed.profile, feed.spec, "another table").read() == LedgerState()


def test_metadata_files_of_a_ledger_do_not_pile_up(feed: Feed) -> None:
    ledger = Ledger(feed.profile, feed.spec, UUID)
    for number in range(60):
        ledger.withdraw(ledger.claim(0, [raw(str(number))], NOON), NOON)
    table = feed.profile.pyiceberg().load_table(ledger.name)
    folder = Path(table.location().removeprefix("file://"))
    assert len(list((folder / "metadata").glob("*.metadata.json"))) <= 101
    assert len(ledger.read().ends) == 60


def test_folding_keeps_every_event_and_one_file(feed: Feed) -> None:
    ledger = Ledger(feed.profile, feed.spec, UUID)
    for number in range(4):
        ledger.confirm(ledger.claim(number, [raw(str(number))], NOON), number, NOON)
    before = ledger.read()
    ledger.fold(at=9)
    assert len(feed.profile.pyiceberg().load_table(ledger.name).metadata.snapshots) == 8, "not yet"
    ledger.fold(at=8)
    table = feed.profile.pyiceberg().load_table(ledger.name)
    assert ledger.read() == before
    assert len(table.metadata.snapshots) == 1
    assert len(list(table.scan().plan_files())) == 2, "the files' month, and what became of claims"


def test_a_date_is_read_without_the_files_of_other_months(feed: Feed) -> None:
    ledger = Ledger(feed.profile, feed.spec, UUID)
    january, june = raw("a"), raw("b", date(2013, 6, 1))
    for number, file in enumerate((january, june)):
        ledger.confirm(ledger.claim(number, [file], NOON), number, NOON)
    still_open = ledger.claim(2, [raw("c", date(2013, 7, 1))], NOON)
    state = ledger.read([june.day])
    assert list(state.confirmed) == [june.path]
    assert state.batches == 2, "claims and their ends are those of all dates"
    assert [claim.id for claim in state.open] == [still_open.id]
    table = feed.profile.pyiceberg().load_table(ledger.name)
    pruned = list(table.scan(row_filter=of_days([june.day])).plan_files())
    assert len(pruned) < len(list(table.scan().plan_files()))


def test_a_ledger_of_the_first_version_is_migrated_with_all_it_says(feed: Feed) -> None:
    """It had neither months nor a row of the claim itself."""
    catalog, ledger = feed.profile.pyiceberg(), Ledger(feed.profile, feed.spec, UUID)
    rows = [*claimed("c", raw("a"), raw("b", D2)), ended(Event.CONFIRMED, "c", 7), *claimed("d", raw("e"), n=1)]
    stored = to_arrow(asdict(row) for row in rows).drop_columns(["month", "rows", "dates", "replaces"])
    catalog.create_namespace_if_not_exists(STATE_NAMESPACE)
    catalog.create_table(ledger.name, stored.schema, properties={"format-version": "2"}).append(stored)
    assert ledger.read() == LedgerState.of(rows)
    (still_open,) = ledger.read([date(2014, 1, 1)]).open
    assert (still_open.id, still_open.n) == ("d", 1)
    ledger.withdraw(still_open, NOON)
    assert not ledger.read().open


def test_folding_loses_no_event_that_comes_in_between(feed: Feed) -> None:
    ledger, writing = Ledger(feed.profile, feed.spec, UUID), threading.Event()
    ledger.claim(0, [raw("first")], NOON)
    writing.set()

    def fold() -> None:
        while writing.is_set():
            ledger.fold(at=2)

    folding = threading.Thread(target=fold)
    folding.start()
    claims = [ledger.claim(0, [raw(str(number))], NOON) for number in range(25)]
    writing.clear()
    folding.join()
    assert {claim.id for claim in claims} < {claim.id for claim in ledger.read().open}


def test_a_ledger_of_a_newer_release_is_refused(feed: Feed) -> None:
    ledger = Ledger(feed.profile, feed.spec, UUID)
    ledger.claim(0, [raw("a")], NOON)
    with feed.profile.pyiceberg().load_table(ledger.name).transaction() as transaction:
        transaction.set_properties({"iceberg-assets.ledger-version": "3"})
    with pytest.raises(ConfigurationError, match="has version 3, and this iceberg_assets knows 2"):
        ledger.read()
    with pytest.raises(ConfigurationError):
        ledger.claim(0, [raw("b")], NOON)
