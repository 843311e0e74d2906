"""Pieces of layouts: the sizes of one partition's files, each on one side of one threshold.

A piece is empty where the settings have no such side.
"""

import random
from collections.abc import Callable
from math import ceil

from iceberg_assets.health import Rule

# A row, which is a row group of a data file, so that Spark can split it: less than the 5 kB by which the planner lets a
# split exceed its share, or there would be more splits than the planner expects.
ROW_BYTES = 2_500

Piece = Callable[[random.Random, Rule], list[int]]


def _alike(dice: random.Random, count: int, total: int) -> list[int]:
    """So many sizes, about alike, of exactly that sum."""
    each, more = divmod(total, count)
    sizes = [each] * (count - 1) + [each + more]
    for first in range(0, count - 1, 2):
        shift = dice.randrange(each // 20 + 1)
        sizes[first], sizes[first + 1] = each - shift, sizes[first + 1] + shift
    return sizes


def _pieces_of(dice: random.Random, r: Rule, total: int) -> list[int]:
    """Candidates of exactly that sum."""
    return _alike(dice, max(2, ceil(total / (r.smallest * 0.8))), total) if r.smallest > 3_000 else []


def enough_files(dice: random.Random, r: Rule) -> list[int]:
    count = max(2, r.min_input_files)
    return _alike(dice, count, count * min(r.target // count, int(r.smallest * 0.9)))


def one_file_too_few(dice: random.Random, r: Rule) -> list[int]:
    return enough_files(dice, r)[1:]


def just_above_target(dice: random.Random, r: Rule) -> list[int]:
    return [r.target // 2, r.target + 1 - r.target // 2] if r.smallest > r.target // 2 + 1 else []


def just_target(dice: random.Random, r: Rule) -> list[int]:
    return [r.target // 2, r.target - r.target // 2] if r.smallest > r.target // 2 + 1 else []


def just_too_large(dice: random.Random, r: Rule) -> list[int]:
    return [r.largest + 1]


def just_not_too_large(dice: random.Random, r: Rule) -> list[int]:
    return [r.largest] * 2


def just_too_small(dice: random.Random, r: Rule) -> list[int]:
    return [r.smallest - 1] if r.smallest > 3_000 else []


def just_not_too_small(dice: random.Random, r: Rule) -> list[int]:
    return [max(r.smallest, 3_000)] * max(2, r.min_input_files)


def good(dice: random.Random, r: Rule) -> list[int]:
    return [dice.randrange(max(r.smallest, 3_000), r.target + 1) for _ in range(dice.randrange(1, 4))]


def whole_targets(dice: random.Random, r: Rule) -> list[int]:
    return _pieces_of(dice, r, dice.randrange(2, 5) * r.target - ROW_BYTES)


def remainder_is_smallest(dice: random.Random, r: Rule) -> list[int]:
    return _pieces_of(dice, r, dice.randrange(2, 4) * r.target + r.smallest)


def remainder_above_smallest(dice: random.Random, r: Rule) -> list[int]:
    return _pieces_of(dice, r, dice.randrange(2, 4) * r.target + r.smallest + 1)


def just_spread(dice: random.Random, r: Rule) -> list[int]:
    """Files a little below what one may grow to; a row group less, or Spark could not split them so."""
    whole = dice.randrange(2, 4)
    return _pieces_of(dice, r, whole * (_spread_limit(r) - 1 - ROW_BYTES))


def just_not_spread(dice: random.Random, r: Rule) -> list[int]:
    return _pieces_of(dice, r, dice.randrange(2, 4) * _spread_limit(r))


def _spread_limit(r: Rule) -> int:
    return ceil(min(1.1 * r.target, int(r.target + (r.largest - r.target) * 0.5)))


PIECES: tuple[Piece, ...] = (
    enough_files, one_file_too_few, just_above_target, just_target, just_too_large, just_not_too_large,
    just_too_small, just_not_too_small, good, whole_targets, remainder_is_smallest, remainder_above_smallest,
    just_spread, just_not_spread,
)  # fmt: skip
