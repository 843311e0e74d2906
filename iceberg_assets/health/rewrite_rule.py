"""Which files ``rewrite_data_files`` would take: the rule of Iceberg's bin-pack planner, in pure functions.

Read from ``SizeBasedFileRewritePlanner`` and ``BinPackRewriteFilePlanner`` of Iceberg 1.12 and held to the engine by
the parity run (docs/plan.md).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health.facts import DataFile, Group
from iceberg_assets.health.properties import whole_number
from iceberg_assets.spec.units import format_bytes, format_count

_DEFAULT_TARGET = 512 * 1024**2
_DEFAULT_GROUP_BYTES = 100 * 1024**3


@dataclass(frozen=True, slots=True)
class Rule:
    """The planner's settings. Sizes in bytes; None is unlimited or off."""

    target: int
    smallest: int
    largest: int
    min_input_files: int
    group_bytes: int
    group_files: int | None
    delete_files: int | None
    delete_ratio: float
    rewrite_all: bool
    max_files: int | None
    compression: float = 1.0

    def is_small(self, file: DataFile) -> bool:
        """Whether the file is below the size that is left alone."""
        return file.size < self.smallest

    def has_too_many_deletes(self, file: DataFile) -> bool:
        """Whether its delete files, or the rows they delete of this file alone, reach a threshold."""
        if self.delete_files is not None and file.delete_files >= self.delete_files:
            return True
        return file.rows > 0 and file.deleted_rows / file.rows >= self.delete_ratio

    def is_candidate(self, file: DataFile) -> bool:
        """Whether the planner looks at the file at all."""
        return self.rewrite_all or self.is_small(file) or file.size > self.largest or self.has_too_many_deletes(file)

    def expected_outputs(self, size: int) -> int:
        """Files that a group of so many bytes becomes (``expectedOutputFiles``)."""
        size = int(size * self.compression)
        if size < self.target:
            return 1
        whole, remainder = divmod(size, self.target)
        write_max = int(self.target + (self.largest - self.target) * 0.5)
        spread = size // whole < min(1.1 * self.target, write_max)
        return whole if remainder == 0 or (remainder <= self.smallest and spread) else whole + 1


def rule(options: Mapping[str, str], properties: Mapping[str, str]) -> Rule:
    """The planner's settings for a table.

    Args:
        options: of ``rewrite_data_files``, by Iceberg's names.
        properties: the table's.

    Raises:
        ConfigurationError: Iceberg would refuse them.
    """
    target = _optional(options, "target-file-size-bytes")
    if target is None:
        target = whole_number(properties, "write.target-file-size-bytes", _DEFAULT_TARGET, least=1)
    return rule_of(options, target)


def rule_of(options: Mapping[str, str], table_target: int) -> Rule:
    """The planner's settings; ``table_target`` is the size of files in bytes where the options have none.

    Raises:
        ConfigurationError: Iceberg would refuse them.
    """
    target = int(options.get("target-file-size-bytes", table_target))
    smallest = int(options.get("min-file-size-bytes", int(target * 0.75)))
    largest = int(options.get("max-file-size-bytes", int(target * 1.8)))
    if not smallest < target < largest:
        raise ConfigurationError(
            f"maintenance.compact.options: expected min-file-size-bytes ({smallest}) < target-file-size-bytes "
            f"({target}) < max-file-size-bytes ({largest}); unless set, the target is the table's "
            "write.target-file-size-bytes"
        )
    made = Rule(
        target=target,
        smallest=smallest,
        largest=largest,
        min_input_files=int(options.get("min-input-files", 5)),
        group_bytes=int(options.get("max-file-group-size-bytes", _DEFAULT_GROUP_BYTES)),
        group_files=_optional(options, "max-file-group-input-files"),
        delete_files=_optional(options, "delete-file-threshold"),
        delete_ratio=float(options.get("delete-ratio-threshold", 0.3)),
        rewrite_all=options.get("rewrite-all", "false") == "true",
        max_files=_optional(options, "max-files-to-rewrite"),
        compression=float(options.get("compression-factor", 1)),
    )
    for name, value in (
        ("min-input-files", made.min_input_files),
        ("max-file-group-size-bytes", made.group_bytes),
        ("max-file-group-input-files", made.group_files),
        ("delete-ratio-threshold", made.delete_ratio),
        ("max-files-to-rewrite", made.max_files),
    ):
        if value is not None and value <= 0:
            raise ConfigurationError(f"maintenance.compact.options.{name}: expected more than 0, got {value}")
    return made


def _optional(options: Mapping[str, str], name: str) -> int | None:
    return int(options[name]) if name in options else None


def groups(files: Iterable[DataFile], current_spec_id: int, settings: Rule) -> list[Group]:
    """The groups that one ``rewrite_data_files`` over these files forms, due or not.

    Where ``max-files-to-rewrite`` cuts, or a partition is packed into several groups, the engine's own order of files
    and partitions decides which come first; numbers agree, names need not.
    """
    partitions: dict[tuple[object, ...], list[DataFile]] = {}
    for file in files:
        if settings.is_candidate(file):
            # Files of older specs may hold rows of many partitions: Iceberg takes them as of no partition, and what is
            # of no partition by the current spec, all of its values null, is packed with them.
            known = file.spec_id == current_spec_id and any(value is not None for value in file.partition)
            partitions.setdefault(file.partition if known else (), []).append(file)
    found = [
        _judged(partition, packed, settings)
        for partition, candidates in partitions.items()
        for packed in _packed(candidates, settings)
    ]
    return found if settings.max_files is None else list(_cut(found, settings.max_files, settings))


def _packed(files: Sequence[DataFile], settings: Rule) -> Iterator[tuple[DataFile, ...]]:
    """Files in order, a new pack where the next one does not fit any more (``BinPacking`` with a look-back of one)."""
    pack: list[DataFile] = []
    size = 0
    for file in files:
        full = settings.group_files is not None and len(pack) >= settings.group_files
        if pack and (full or size + file.size > settings.group_bytes):
            yield tuple(pack)
            pack, size = [], 0
        pack.append(file)
        size += file.size
    if pack:
        yield tuple(pack)


def _judged(partition: tuple[object, ...], files: tuple[DataFile, ...], settings: Rule) -> Group:
    """Whether a pack is rewritten, by ``enoughInputFiles``, ``enoughContent``, ``tooMuchContent`` or its deletes."""
    count, size = len(files), sum(file.size for file in files)
    heavy = sum(settings.has_too_many_deletes(file) for file in files)
    files_in_words = format_count(count, "file")
    due = True
    if settings.rewrite_all:
        reason = f"rewrite-all takes all {files_in_words}"
    elif count > 1 and count >= settings.min_input_files:
        reason = f"{files_in_words} of {format_bytes(size)}, due from {max(2, settings.min_input_files)}"
    elif count > 1 and size > settings.target:
        reason = f"{files_in_words} of {format_bytes(size)} fill the target of {format_bytes(settings.target)}"
    elif size > settings.largest:
        reason = f"{format_bytes(size)} exceed the largest size of {format_bytes(settings.largest)}"
    elif heavy:
        reason = f"{heavy} of {files_in_words} have too many deletes"
    else:
        due = False
        reason = f"{files_in_words} of {format_bytes(size)}, due from {max(2, settings.min_input_files)}"
    return Group(partition, files, due, reason, settings.expected_outputs(size))


def _cut(found: Iterable[Group], budget: int, settings: Rule) -> Iterator[Group]:
    """The groups up to ``max-files-to-rewrite``: one in part, those after it not at all."""
    for group in found:
        if not group.due:
            yield group
        elif budget == 0:
            yield replace(group, due=False, reason=f"{group.reason}; max-files-to-rewrite is used up")
        else:
            kept = group.files[:budget]
            budget -= len(kept)
            yield replace(group, files=kept, outputs=settings.expected_outputs(sum(file.size for file in kept)))
