"""What a project does before anybody trusts it: plan, write that down, and do nothing. No JVM."""

import json

from iceberg_assets.history import Wanted, read_records
from iceberg_assets.profiles import Profile
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.orchestration.conftest import FIRST, Locate, Location, days


def scattered(location: Location) -> Location:
    """With a table that has compactions, an expiry and a search for orphans due."""
    location.table.profile.prepare()
    table = on_paper.make(location.table.profile.pyiceberg(), location.table.spec.name)
    on_paper.append(table, days(2), 6)
    return location


def test_a_shadow_asks_for_nothing_and_writes_each_need_down_once(profile: Profile, locate: Locate) -> None:
    location = scattered(locate(source=None, under=profile.model_copy(update={"shadow": True})))
    compaction, upkeep = location.tick("iceberg_compaction"), location.tick("iceberg_upkeep")
    for tick in (compaction, upkeep):
        assert not tick.run_requests
    assert "planned only, since the profile says shadow" in str(compaction.skip_message)
    wanted = Wanted(table=location.table.spec.name)
    planned = read_records(profile, wanted)
    assert [(one.operation, one.dates, one.shadow) for one in planned] == [("compacted", tuple(days(2)), True)]
    assert planned[0].who.run_id == "sensor tick"
    for _ in range(2):
        compaction = location.tick("iceberg_compaction", compaction.cursor)
    assert read_records(profile, wanted) == planned
    on_paper.append(profile.pyiceberg().load_table(location.table.spec.name), [FIRST], 1)
    location.tick("iceberg_compaction", compaction.cursor)
    assert len(read_records(profile, wanted)) == 2, "the table is another one, and so is the need"
    assert json.loads(str(compaction.cursor))["planned"]


def test_what_was_planned_only_holds_nothing_back_later(profile: Profile, locate: Locate) -> None:
    """The day that shadow is switched off, the sensors ask."""
    location = scattered(locate(source=None, under=profile.model_copy(update={"shadow": True})))
    cursor = location.tick("iceberg_compaction").cursor
    trusted = Location(locate(source=None).table, location.raw, location.instance, locate(source=None).definitions)
    assert len(trusted.tick("iceberg_compaction", cursor).run_requests or []) == 1


def test_no_run_is_asked_for_where_it_would_be_refused(profile: Profile, locate: Locate) -> None:
    guarded = profile.model_validate({**profile.model_dump(), "production": {"hosts": ["another-host"]}})
    tick = scattered(locate(source=None, under=guarded)).tick("iceberg_compaction")
    assert not tick.run_requests
    assert "production.hosts (another-host)" in str(tick.skip_message)
