"""The rule held to what the engine did with 200 layouts, and the layouts held to a rule with one thing changed.

No engine runs here: its answers are those of the last ``make test-parity``, and a layout is made of its seed.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from iceberg_assets_tests.parity.branches import FILE, GROUP, branches
from iceberg_assets_tests.parity.layouts import Answer, Layout
from iceberg_assets_tests.parity.mutants import Mutant, mutants
from iceberg_assets_tests.parity.themes import SEEDS, layout

RESULTS = Path(__file__).parents[2] / "docs" / "parity-results.json"
# By line and change: what makes no difference, and why.
EQUIVALENT = {
    "elif count > 1 and size > settings.target: | count > 1 → count >= 1": (
        "a single candidate above the target is above the largest size too, or due for its deletes"
    ),
    "elif size > settings.largest: | size > settings.largest → size >= settings.largest": (
        "a single file of the largest size is no candidate, and several are above the target"
    ),
    "if size < self.target: | size < self.target → size <= self.target": "one whole target is one file as well",
    'target = whole_number(properties, "write.target-file-size-bytes", _DEFAULT_TARGET, least=1) | 1 → 2': (
        "a target of one byte has no room for a largest size above it, and is refused either way"
    ),
    "return file.rows > 0 and file.deleted_rows / file.rows >= self.delete_ratio | file.rows > 0 → file.rows >= 0": (
        "a file without rows would be divided by; test_rewrite_rule has one"
    ),
    "return file.rows > 0 and file.deleted_rows / file.rows >= self.delete_ratio | 0 → 1": (
        "of a file of one row, either nothing or everything is deleted"
    ),
}


@pytest.fixture(scope="module")
def answers() -> list[tuple[Layout, Answer]]:
    recorded = json.loads(RESULTS.read_text())["answers"]
    return [
        (layout(int(seed)), Answer(frozenset(one["removed"]), Counter(one["added"]))) for seed, one in recorded.items()
    ]


def test_the_rule_foretells_what_the_engine_did(answers: list[tuple[Layout, Answer]]) -> None:
    assert len(answers) == SEEDS
    wrong = [one.seed for one, answer in answers if not one.agree(one.foretold(), answer)]
    assert not wrong, "where layouts were changed: make test-parity"


def test_every_side_of_every_threshold_is_met_by_ten_layouts() -> None:
    met = Counter(name for seed in range(SEEDS) for name in branches(layout(seed)))
    assert {name: met[name] for name in (*FILE, *GROUP) if met[name] < 10} == {}


def test_half_of_the_layouts_have_files_taken_and_files_left(answers: list[tuple[Layout, Answer]]) -> None:
    assert sum(0 < len(answer.removed) < len(one.files) for one, answer in answers) >= SEEDS / 2


def test_a_rule_with_one_thing_changed_is_found_out(answers: list[tuple[Layout, Answer]]) -> None:
    changed = list(mutants())
    survivors = {mutant.change for mutant in changed if not _found_out(mutant, answers)}
    assert survivors == set(EQUIVALENT)
    assert len(changed) > 40, "the changes are made, not only listed"


def _found_out(mutant: Mutant, answers: list[tuple[Layout, Answer]]) -> bool:
    try:
        return not all(one.agree(one.foretold(mutant.rule), answer) for one, answer in answers)
    except Exception:  # noqa: BLE001 - a rule that cannot be applied any more is found out as well
        return True
