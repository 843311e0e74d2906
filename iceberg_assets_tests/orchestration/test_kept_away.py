"""A run beside another maintainer that Dagster knows nothing of: no pool queues it, the lease does. No JVM."""

from iceberg_assets.maintenance.lease import lease
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.orchestration.conftest import FIRST, Locate


def test_a_run_that_the_lease_keeps_away_turns_no_date_green_and_names_the_holder(locate: Locate) -> None:
    location = locate(source=None)
    spec, profile = location.table.spec, location.table.profile
    profile.prepare()
    on_paper.append(on_paper.make(profile.pyiceberg(), spec.name), [FIRST], 6)

    with lease(profile, spec, "rewrite_data_files"):
        result = location.run(FIRST, FIRST, "compacted", fails=True)
    (failure,) = result.get_step_failure_events()
    error = str(failure.step_failure_data.error)
    assert "is maintained by somebody else: rewrite_data_files, process" in error
    assert not location.materialized("compacted")
