"""The job's file, written by a test."""

from pathlib import Path

from iceberg_assets.job import JobSettings, read_settings


def written(folder: Path, text: str, name: str = "job.conf") -> JobSettings:
    """The settings that a file of that text has."""
    file = folder / name
    file.write_text(text)
    return read_settings(file)
