"""What a seed stands for: a layout that is made to try something. Pure, so that a seed replays it."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from iceberg_assets.health import Rule, rule
from iceberg_assets_tests.parity.layouts import File, Layout, PartitionDeletes
from iceberg_assets_tests.parity.pieces import (
    PIECES,
    ROW_BYTES,
    Piece,
    enough_files,
    good,
    just_above_target,
    just_not_spread,
    just_not_too_large,
    just_not_too_small,
    just_spread,
    just_target,
    just_too_large,
    just_too_small,
    one_file_too_few,
    remainder_above_smallest,
    remainder_is_smallest,
    whole_targets,
)

SEEDS = 200
"""All layouts; each theme is tried as often as the others."""


def layout(seed: int) -> Layout:
    """The layout of a seed."""
    theme = THEMES[seed % len(THEMES)]
    # Seed and name are the same for every theme to set.
    return replace(theme(random.Random(seed)), seed=seed, theme=theme.__name__)


def _options(dice: random.Random, **given: object) -> dict[str, str]:
    """Some of the rule's options at random, and those given."""
    target = dice.randrange(60_000, 100_000, 10)
    options: dict[str, object] = {"target-file-size-bytes": target}
    if dice.random() < 0.6:
        options["min-input-files"] = dice.choice([1, 2, 3, 4, 8])
    if dice.random() < 0.25:
        options["min-file-size-bytes"] = dice.choice([target // 4, target // 2, target * 9 // 10])
    if dice.random() < 0.25:
        options["max-file-size-bytes"] = target + dice.choice([target // 10, target // 3, target])
    options |= {name.replace("_", "-"): value for name, value in given.items()}
    return {name: str(value) for name, value in options.items()}


def _parts(dice: random.Random, r: Rule, pieces: Sequence[Piece], first: int = 0) -> tuple[File, ...]:
    """A partition for each piece."""
    return tuple(_file(size, part) for part, piece in enumerate(pieces, first) for size in piece(dice, r))


def _file(size: int, part: int | None = 0, spec: int = -1) -> File:
    return File(size, part, spec, max(4, size // ROW_BYTES))


def _whole(size: int, part: int, rows: int = 20, positions: tuple[int, ...] = (), vector: int = 0) -> File:
    return File(size, part, rows=rows, whole=True, positions=positions, vector=vector)


def _some(dice: random.Random, count: int = 2) -> list[Piece]:
    return dice.sample(PIECES, count)


def _plain(
    options: Mapping[str, str], files: tuple[File, ...], *deletes: PartitionDeletes, world: str = "plain"
) -> Layout:
    return Layout(0, "", world, options, files, deletes)


def _of_pieces(dice: random.Random, *pieces: Piece, **given: object) -> Layout:
    options = _options(dice, **given)
    return _plain(options, _parts(dice, rule(options, {}), [*pieces, *_some(dice, 1)]))


def number_of_files(dice: random.Random) -> Layout:
    return _of_pieces(dice, enough_files, one_file_too_few, just_not_too_small)


def one_file_is_no_group(dice: random.Random) -> Layout:
    return _of_pieces(dice, just_too_small, just_too_large, enough_files, min_input_files=1)


def content(dice: random.Random) -> Layout:
    return _of_pieces(dice, just_above_target, just_target, just_not_too_large, min_input_files=dice.choice([3, 5]))


def default_thresholds(dice: random.Random) -> Layout:
    """Of the table's own target, and nothing else given."""
    properties = {"write.target-file-size-bytes": str(dice.randrange(60_000, 90_000, 20))}
    r = rule({}, properties)
    pieces = [enough_files, one_file_too_few, just_too_large, just_not_too_large, just_not_too_small, just_too_small]
    files = (replace(one, part=one.part + 1) for one in _parts(dice, r, pieces) if one.part is not None)
    return Layout(0, "", "nulls", {}, tuple(files), properties=properties)


def remainders(dice: random.Random) -> Layout:
    # Few bytes over are spread, many are not: with a small smallest size, and with the usual one.
    smallest = {"min_file_size_bytes": 12_000} if dice.random() < 0.5 else {}
    return _of_pieces(dice, remainder_is_smallest, remainder_above_smallest, whole_targets, just_too_small, **smallest)


def spread_by_target(dice: random.Random) -> Layout:
    return _of_pieces(dice, just_spread, just_not_spread, one_file_too_few)


def spread_by_largest(dice: random.Random) -> Layout:
    """Files may grow by half the way to the largest size, where that is less than a tenth; or not at all."""
    options = _options(dice, min_input_files=2)
    target = int(options["target-file-size-bytes"])
    share = dice.choice([0, 9, 9])
    options["max-file-size-bytes"] = str(target + max(1, 2 * (target * share // 100)))
    r = rule(options, {})
    if share:
        return _plain(options, _parts(dice, r, [just_spread, just_not_spread, just_too_small]))
    halves = [_whole(target // 2, 1, 4) for _ in range(4)]
    return _plain(options, (*_parts(dice, r, [just_too_small]), *halves))


def deleted_rows(dice: random.Random) -> Layout:
    return _deleted_rows(dice, "plain")


def deletion_vectors(dice: random.Random) -> Layout:
    return _deleted_rows(dice, "vectors")


def _deleted_rows(dice: random.Random, world: str) -> Layout:
    ratio = dice.choice([None, None, 0.25, 0.5, 0.9])
    options = _options(dice, **({} if ratio is None else {"delete_ratio_threshold": ratio}))
    r = rule(options, {})
    enough = round(r.delete_ratio * 20)
    files = []
    for part, rows in enumerate([enough, enough - 1, enough, 1]):
        (size, *_) = good(dice, r)
        if world == "vectors":
            files.append(_whole(size, part, vector=rows))
        else:
            files.append(_whole(size, part, positions=(rows,) if part else (rows - 1, 1)))
    if world == "plain":
        # The same rows in two files: more deletes than rows.
        files.append(_whole(good(dice, r)[0], 4, positions=(19, 19)))
    return _plain(options, (*files, *_parts(dice, r, _some(dice, 1), 5)), world=world)


def delete_files(dice: random.Random) -> Layout:
    threshold = dice.choice([1, 2, 3])
    options = _options(dice, delete_file_threshold=threshold)
    r = rule(options, {})
    at, below = (tuple(1 for _ in range(count)) for count in (threshold, threshold - 1))
    files = [_whole(good(dice, r)[0], part, rows=40, positions=of) for part, of in enumerate([at, below, at])]
    return _plain(options, (*files, *_parts(dice, r, _some(dice), 3)))


def delete_files_of_a_partition(dice: random.Random) -> Layout:
    """Position deletes of several files and equality deletes: they count as files, their rows do not."""
    threshold = dice.choice([1, 2])
    options = _options(dice, delete_file_threshold=threshold, min_input_files=8)
    r = rule(options, {})
    files = [_whole(good(dice, r)[0], part) for part in (0, 0, 1, 2, 2)]
    deletes = [PartitionDeletes(0, equality=dice.randrange(2))] * threshold
    if threshold > 1:
        deletes.append(PartitionDeletes(1, equality=15))
    return _plain(options, (*files, *_parts(dice, r, _some(dice, 1), 3)), *deletes)


def equality_deletes(dice: random.Random) -> Layout:
    """Three quarters of a file's rows are gone, and nobody knows that before it is read."""
    options = _options(dice)
    r = rule(options, {})
    files = [_whole(size, part) for part, sizes in enumerate([good(dice, r), enough_files(dice, r)]) for size in sizes]
    files += _parts(dice, r, _some(dice, 1), 2)
    return _plain(options, tuple(files), PartitionDeletes(0, equality=15), PartitionDeletes(1, equality=3))


def bytes_of_a_group(dice: random.Random) -> Layout:
    """Three files fill a group to the byte; a fourth begins the next."""
    each = dice.randrange(8_000, 16_000)
    options = _options(dice, max_file_group_size_bytes=3 * each, min_input_files=3, min_file_size_bytes=20_000)
    small = [each, each, each, each, each, each + 1, each, each, each, each]
    return _plain(options, tuple(_file(size) for size in small))


def files_of_a_group(dice: random.Random) -> Layout:
    options = _options(dice, max_file_group_input_files=dice.choice([3, 4]), min_input_files=3)
    count = dice.choice([7, 8, 10])
    few = [_file(dice.randrange(5_000, 9_000)) for _ in range(count)]
    return _plain(options, (*few, *_parts(dice, rule(options, {}), [just_not_too_small], 1)))


def most_files(dice: random.Random) -> Layout:
    """Cut within a group, at its end, or not at all."""
    most = dice.choice([1, 4, 6, 8, 9, 10, 11])
    options = _options(dice, max_file_group_input_files=4, min_input_files=2, max_files_to_rewrite=most)
    sizes = [dice.randrange(5_000, 9_000) for _ in range(9)] + [dice.randrange(5_000, 9_000)] * dice.randrange(2)
    return _plain(options, tuple(_file(size) for size in sizes))


def most_files_of_several_partitions(dice: random.Random) -> Layout:
    """Which partition comes first, is decided by a hash in the planner; how many files go, is not."""
    options = _options(dice, max_files_to_rewrite=dice.choice([3, 6, 7]), min_input_files=3)
    sizes = [dice.randrange(5_000, 9_000) for _ in range(4)]
    return replace(_plain(options, tuple(_file(size, part) for part in range(3) for size in sizes)), names=False)


def everything(dice: random.Random) -> Layout:
    options = _options(dice, rewrite_all="true", max_file_group_input_files=dice.choice([2, 3]))
    r = rule(options, {})
    return _plain(options, _parts(dice, r, [just_not_too_large, just_not_too_small, just_too_small]))


def older_specs(dice: random.Random) -> Layout:
    """Files of two older specs make one group; those of the current one are grouped by partition as ever."""
    options = _options(dice, min_input_files=dice.choice([3, 4]))
    r = rule(options, {})
    total = dice.choice([2, 3, 4])
    old = [_file(dice.randrange(5_000, 9_000), spec=number % 2) for number in range(total)]
    return _plain(options, (*old, *_parts(dice, r, [one_file_too_few, *_some(dice)])), world="evolved")


def void_field(dice: random.Random) -> Layout:
    """A partition that has a date and a null is one of the current spec."""
    options = _options(dice, min_input_files=4)
    r = rule(options, {})
    old = [_file(dice.randrange(5_000, 9_000), spec=0) for _ in range(dice.choice([3, 4]))]
    now = [_file(dice.randrange(5_000, 9_000), None) for _ in range(dice.choice([3, 4]))]
    return _plain(options, (*old, *now, _file(r.smallest, None)), world="void")


def no_partition(dice: random.Random) -> Layout:
    """Files whose partition values are all null are packed with those of older specs."""
    world = dice.choice(["nulls", "bare", "bare v1"])
    options = _options(dice, min_input_files=4)
    old = [_file(dice.randrange(5_000, 9_000), spec=0) for _ in range(2)]
    now = [_file(dice.randrange(5_000, 9_000), None) for _ in range(dice.choice([1, 2, 3]))]
    others = [_file(dice.randrange(5_000, 9_000), 1) for _ in range(3)] if world == "nulls" else []
    return Layout(0, "", world, options, (*old, *now, *others), properties={})


THEMES: tuple[Callable[[random.Random], Layout], ...] = (
    number_of_files, one_file_is_no_group, content, default_thresholds, remainders, spread_by_target, spread_by_largest,
    deleted_rows, deletion_vectors, delete_files, delete_files_of_a_partition, equality_deletes,
    bytes_of_a_group, files_of_a_group, most_files, most_files_of_several_partitions, everything, older_specs,
    void_field, no_partition,
)  # fmt: skip
