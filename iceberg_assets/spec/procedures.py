"""Iceberg's Spark procedures, each argument and option declared once: a table of data.

Names, defaults and rules are those of Iceberg 1.12, read from the classes that each ``source`` names. From here come
what is checked when a YAML is loaded, the Launchpad's fields, the command line, the CALL, the JSON schema and
docs/operations.md.
"""

from collections.abc import Mapping

from iceberg_assets.spec.procedure import Argument, Procedure

_ONE_COMMIT = "not offered: a date is one commit, so that it is done or not done, and failed groups fail the run"

# SizeBasedFileRewritePlanner, which data files and position deletes share.
_SIZES = (
    Argument("min-file-size-bytes", "bytes", "Smaller files are rewritten.", "0.75 of the target"),
    Argument("max-file-size-bytes", "bytes", "Larger files are split.", "1.8 of the target"),
    Argument(
        "min-input-files", "count", "A group of at least so many files is rewritten; two are needed even with 1.", "5"
    ),
    Argument("max-file-group-size-bytes", "bytes", "A partition's files are rewritten in groups up to this.", "100GB"),
    Argument("max-file-group-input-files", "count", "Most files of a group.", "no limit"),
    Argument("rewrite-all", "flag", "Rewrite every file, whatever its size.", "false"),
    Argument("max-concurrent-file-group-rewrites", "count", "Groups rewritten at the same time.", "5"),
    Argument(
        "rewrite-job-order",
        "word",
        "Which groups come first.",
        "none",
        ("bytes-asc", "bytes-desc", "files-asc", "files-desc", "none"),
    ),
)
_PARTIAL_PROGRESS = (
    Argument("partial-progress.enabled", "flag", "Commit groups before all are done.", "false", refused=_ONE_COMMIT),
    Argument("partial-progress.max-commits", "count", "Most of these commits.", "10", refused=_ONE_COMMIT),
)
_SNAPSHOT = Argument("snapshot_id", "snapshot", "The snapshot.", required=True)
_DELETES = Argument(
    "max_concurrent_deletes", "count", "Threads that delete, where the store has no bulk delete.", "the calling thread"
)

_ALL = (
    Procedure(
        "rewrite_data_files",
        "Small, large and much deleted files rewritten into files of the target size.",
        "RewriteDataFiles, SizeBasedFileRewritePlanner, BinPackRewriteFilePlanner, SparkShufflingDataRewritePlanner, "
        "SparkShufflingFileRewriteRunner, SparkZOrderFileRewriteRunner",
        (
            Argument(
                "strategy",
                "word",
                "Files put together as they are, or their rows sorted. Which files are taken is the same for both: "
                "what has the right size already is left unsorted, unless rewrite-all is set.",
                "binpack, or sort where there is a sort_order",
                ("binpack", "sort"),
            ),
            Argument(
                "sort_order",
                "order",
                "What to sort by: 'carrier ASC NULLS LAST, ts', or 'zorder(origin, dest)' alone, of several columns.",
                "the table's sort order",
            ),
            Argument(
                "where",
                "text",
                "Only files that may hold such rows, as Spark SQL; a literal may stand in double quotes.",
                "the whole table",
            ),
            Argument("branch", "text", "The branch that is rewritten.", "main"),
        ),
        (
            Argument(
                "target-file-size-bytes",
                "bytes",
                "Size of the files written.",
                "the table's write.target-file-size-bytes (512MB)",
            ),
            *_SIZES,
            Argument("max-files-to-rewrite", "count", "Most files of one rewrite; the rest waits.", "no limit"),
            Argument(
                "delete-file-threshold", "count", "Files with so many delete files are rewritten.", "off", least=0
            ),
            Argument(
                "delete-ratio-threshold", "ratio", "Files with such a share of deleted rows are rewritten.", "0.3"
            ),
            Argument(
                "use-starting-sequence-number",
                "flag",
                "New files are as old as the rewrite's start, so that equality deletes committed meanwhile apply.",
                "true",
            ),
            Argument(
                "remove-dangling-deletes",
                "flag",
                "Drop delete files older than every data file of their partition.",
                "false",
            ),
            Argument("output-spec-id", "count", "Partition spec to write with.", "the current one", least=0),
            Argument("cache-delete-files", "flag", "Executors keep delete files in memory while they read.", "false"),
            Argument(
                "compression-factor",
                "factor",
                "Bytes out for each byte in, to foretell how many files.",
                "1",
                only="sort",
            ),
            Argument(
                "shuffle-partitions-per-file",
                "count",
                "Shuffle partitions for each file; above 1 needs Iceberg's session extensions.",
                "1",
                only="sort",
            ),
            Argument(
                "max-output-size",
                "count",
                "Bytes of the interleaved value that rows are sorted by.",
                "no limit",
                only="z-order",
            ),
            Argument("var-length-contribution", "count", "Bytes of a text or binary that count.", "8", only="z-order"),
            *_PARTIAL_PROGRESS,
            Argument(
                "partial-progress.max-failed-commits",
                "count",
                "Most of these commits that may fail.",
                "as many as max-commits",
                refused=_ONE_COMMIT,
            ),
        ),
        asset="compacted",
    ),
    Procedure(
        "rewrite_manifests",
        "Manifests rewritten so that each covers few partitions, and there are few of them.",
        "RewriteManifestsProcedure, RewriteManifestsSparkAction",
        (
            Argument("use_caching", "flag", "Spark caches the entries while it sorts them.", "false"),
            Argument(
                "spec_id", "count", "The partition spec whose manifests are rewritten.", "the current one", least=0
            ),
            Argument("sort_by", "list", "Partition fields to cluster by, in this order.", "the spec's own order"),
        ),
        asset="manifests_rewritten",
    ),
    Procedure(
        "rewrite_position_delete_files",
        "Position delete files put together, and those dropped that apply to no data file any more.",
        "RewritePositionDeleteFiles, BinPackRewritePositionDeletePlanner, RewritePositionDeleteFilesSparkAction",
        (
            Argument(
                "where", "text", "Only those of partitions that may hold such rows, as Spark SQL.", "the whole table"
            ),
        ),
        (
            Argument(
                "target-file-size-bytes",
                "bytes",
                "Size of the files written.",
                "the table's write.delete.target-file-size-bytes (64MB)",
            ),
            *_SIZES,
            *_PARTIAL_PROGRESS,
        ),
    ),
    Procedure(
        "expire_snapshots",
        "Old snapshots expired, and the files deleted that only they held.",
        "ExpireSnapshotsProcedure, RemoveSnapshots",
        (
            Argument(
                "older_than",
                "moment",
                "Snapshots before this go.",
                "the table's history.expire.max-snapshot-age-ms (5d)",
            ),
            Argument(
                "retain_last",
                "count",
                "So many of each branch stay in any case.",
                "the table's history.expire.min-snapshots-to-keep (1)",
            ),
            _DELETES,
            Argument("stream_results", "flag", "The driver gets the files to delete piece by piece.", "false"),
            Argument("snapshot_ids", "snapshots", "Just these."),
            Argument("clean_expired_metadata", "flag", "Schemas and specs go too that no snapshot uses.", "false"),
        ),
        asset="snapshots_expired",
    ),
    Procedure(
        "remove_orphan_files",
        "Files deleted that no snapshot of the table reaches.",
        "RemoveOrphanFilesProcedure, DeleteOrphanFilesSparkAction",
        (
            Argument("older_than", "moment", "Files before this go; at least 24h.", "3d"),
            Argument("location", "text", "The folder that is looked through.", "the table's location"),
            Argument("dry_run", "flag", "List them, delete nothing.", "false"),
            _DELETES,
            Argument(
                "file_list_view", "text", "A view with file_path and last_modified that is taken for the listing."
            ),
            Argument("equal_schemes", "map", "Schemes that mean the same.", '{"s3n,s3a": "s3"}'),
            Argument("equal_authorities", "map", "Authorities that mean the same."),
            Argument(
                "prefix_mismatch_mode",
                "word",
                "What to do with files whose scheme or authority differs.",
                "ERROR",
                ("ERROR", "IGNORE", "DELETE"),
            ),
            Argument("prefix_listing", "flag", "List by the table's own FileIO.", "false"),
            Argument("stream_results", "flag", "The driver gets the files to delete piece by piece.", "false"),
        ),
        asset="orphans_removed",
    ),
    Procedure(
        "rollback_to_snapshot",
        "Main put back to one of its ancestors.",
        "RollbackToSnapshotProcedure, SetSnapshotOperation",
        (_SNAPSHOT,),
    ),
    Procedure(
        "rollback_to_timestamp",
        "Main put back to what it was at a point in time.",
        "RollbackToTimestampProcedure, SetSnapshotOperation",
        (Argument("timestamp", "moment", "The last ancestor before it becomes main.", required=True),),
    ),
    Procedure(
        "set_current_snapshot",
        "Main set to any snapshot, whether it is an ancestor or not.",
        "SetCurrentSnapshotProcedure, SetSnapshotOperation",
        (
            Argument("snapshot_id", "snapshot", "The snapshot; this, or ref."),
            Argument("ref", "text", "The branch or tag whose snapshot it is; this, or snapshot_id."),
        ),
    ),
    Procedure(
        "cherrypick_snapshot",
        "The changes of a snapshot that is not in main, applied to it.",
        "CherrypickSnapshotProcedure, CherryPickOperation",
        (_SNAPSHOT,),
    ),
    Procedure(
        "publish_changes",
        "The changes of the snapshot that was staged with an id, applied to main.",
        "PublishChangesProcedure, WapUtil",
        (Argument("wap_id", "text", "The id that it was written with (spark.wap.id).", required=True),),
    ),
    Procedure(
        "fast_forward",
        "A branch moved to the head of another one that continues it.",
        "FastForwardBranchProcedure, UpdateSnapshotReferencesOperation",
        (
            Argument("branch", "text", "The branch that moves.", required=True),
            Argument("to", "text", "The branch that it moves to.", required=True),
        ),
    ),
    Procedure(
        "add_files",
        "Data files that are there already made files of the table, where they lie.",
        "AddFilesProcedure, SparkTableUtil",
        (
            Argument(
                "source_table",
                "text",
                "Their folder, as parquet.`/path`, orc.`/path` or avro.`/path`; or a table of the session catalog.",
                required=True,
            ),
            Argument("partition_filter", "map", "Only those of such partitions, by the names of Hive's folders."),
            Argument("check_duplicate_files", "flag", "Refuse files that the table has already.", "true"),
            Argument("parallelism", "count", "Threads that read the files' footers.", "1"),
        ),
    ),
    Procedure(
        "register_table",
        "A table that no catalog knows any more put into this one, by its newest metadata file.",
        "RegisterTableProcedure",
        (Argument("metadata_file", "text", "Path of the metadata file.", required=True),),
    ),
    Procedure(
        "compute_table_stats",
        "Numbers of distinct values written to a statistics file.",
        "ComputeTableStatsProcedure, ComputeTableStatsSparkAction",
        (
            Argument("snapshot_id", "snapshot", "Of this snapshot.", "the current one"),
            Argument("columns", "list", "Of these columns.", "all columns"),
        ),
    ),
    Procedure(
        "compute_partition_stats",
        "Rows, files and bytes of each partition written to a statistics file.",
        "ComputePartitionStatsProcedure, PartitionStatsHandler",
        (Argument("snapshot_id", "snapshot", "Of this snapshot.", "the current one"),),
    ),
)

PROCEDURES: Mapping[str, Procedure] = {one.name: one for one in _ALL}
"""By name."""
