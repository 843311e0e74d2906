"""What a failed date shows on its page."""

from datetime import date

from iceberg_assets.orchestration.metadata import problem_table
from iceberg_assets.spec import Status
from iceberg_assets.tables import AppendOutcome, RawFile
from iceberg_assets.tables.fit import Problem

D1 = date(2013, 1, 1)


def test_problems_are_a_table_by_file_and_column_and_the_rest_is_counted():
    problems = tuple(Problem(RawFile(f"/raw/{n}", 1, "1", D1), "a|b", "is wrong", "mend it") for n in range(53))
    lines = (problem_table(AppendOutcome(D1, Status.FAILED, "", problems=problems)).value or "").splitlines()
    assert lines[:3] == [
        "| file | column | what | way out |",
        "|---|---|---|---|",
        "| /raw/0 | a\\|b | is wrong | mend it |",
    ]
    assert lines[-1] == "and 3 more"
