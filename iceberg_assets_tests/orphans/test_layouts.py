"""Nothing alive is named, and what is dead and old is: on random tables, and whatever a search might forget."""

from pathlib import Path

from iceberg_assets_tests.orphans.rounds import BLIND, in_memory, play

SHARE = range(40)


def test_the_search_names_what_is_dead_and_nothing_that_is_alive(tmp_path: Path) -> None:
    played = list(play(in_memory(), tmp_path, SHARE))
    assert [str(one) for one in played if one.faults] == []
    assert sum(one.dead for one in played) > len(SHARE), "tables without orphans prove nothing"
    assert {kind for one in played for kind in one.found_out} == set(BLIND), "a blind search has to be found out"
