"""The files that a compaction took from a date and those that it put there, as a table for the UI."""

from pathlib import PurePosixPath

import dagster as dg

from iceberg_assets.maintenance import Rewritten

_TABLED = 10
"""So many files of each kind are listed for a date; the rest is counted."""

_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("when", "string", "before the compaction, or after it"),
        dg.TableColumn("file", "string", "the end of its path"),
        dg.TableColumn("bytes", "int"),
        dg.TableColumn("rows", "int"),
    ]
)


def file_table(of_date: Rewritten) -> dg.TableMetadataValue:
    """Path, bytes and rows of the files before and after."""
    records: list[dict[str, str | int | float | bool | None]] = []
    for when, files in (("before", of_date.before), ("after", of_date.after)):
        records += [
            {"when": when, "file": PurePosixPath(file.path).name, "bytes": file.size, "rows": file.rows}
            for file in files[:_TABLED]
        ]
        if rest := files[_TABLED:]:
            size, rows = sum(file.size for file in rest), sum(file.rows for file in rest)
            records.append({"when": when, "file": f"and {len(rest)} more", "bytes": size, "rows": rows})
    return dg.MetadataValue.table([dg.TableRecord(record) for record in records], _COLUMNS)
