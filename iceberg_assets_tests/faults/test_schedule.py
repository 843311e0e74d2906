"""A seed is all that a round is made of."""

from iceberg_assets.tables.publish import STEPS
from iceberg_assets_tests.faults.schedule import barrier_round, kill_round


def test_a_seed_gives_its_round_again() -> None:
    for seed in range(100):
        assert kill_round(seed) == kill_round(seed)
        assert barrier_round(seed) == barrier_round(seed)


def test_fourteen_seeds_in_a_row_kill_at_every_step_in_tasks_and_in_recovery() -> None:
    for first in (0, 36):
        rounds = [kill_round(seed) for seed in range(first, first + 14)]
        assert {one.moment.step for one in rounds if one.moment.kind == "at"} >= {*STEPS}
        assert "task" in {one.moment.kind for one in rounds}
        assert any(one.again for one in rounds)
        assert {one.replaces for one in rounds[:6]} == {True, False}


def test_two_at_once_share_files_and_have_some_of_their_own() -> None:
    for seed in range(100):
        one = barrier_round(seed)
        left, right = set(one.left), set(one.right)
        assert left & right
        assert left - right
        assert right - left
        assert left | right == one.landing.keys()
