"""The table at the end of docs/profiles.md, made from what the product itself reads: ``python -m`` this writes it."""

from collections.abc import Iterator
from pathlib import Path

from iceberg_assets.profiles.kinds import DIALECTS, KINDS
from iceberg_assets.profiles.store import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"
MARK = (
    "<!-- From here on: made of iceberg_assets/profiles/kinds.py by: python -m iceberg_assets_tests.profiles.page -->\n"
)


def page() -> str:
    """The page as it should be."""
    written, _, _ = PAGE.read_text().partition(MARK)
    return written + MARK + "\n" + "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield "Names of Spark stand below `spark.sql.catalog.<name>.`."
    yield ""
    yield "| key | Spark | PyIceberg |"
    yield "|---|---|---|"
    for kind, one in KINDS.items():
        yield f"| `type: {kind}` | `type={kind}`{_more(one.spark)} | {_told(one.pyiceberg)} |"
        for key, names in one.keys.items():
            if names.spark or names.pyiceberg:
                yield f"| `{key}` | {_name(names.spark)} | {_name(names.pyiceberg)} |"
    for dialect in DIALECTS.values():
        spark = f"`uri={dialect.jdbc}…`{_more(dialect.spark)}"
        yield f"| `uri: {dialect.example}` | {spark} | `uri={dialect.sqlalchemy}…` |"
    for key, names in NAMES.items():
        yield f"| `store.{key}` | `{names.iceberg}`, and `spark.hadoop.fs.s3a.{names.hadoop}` | `{names.pyiceberg}` |"


def _name(name: str | None) -> str:
    return f"`{name}`" if name else "in `uri`"


def _more(settings: object) -> str:
    return f", {_told(settings)}" if settings else ""


def _told(settings: object) -> str:
    assert isinstance(settings, dict)
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())


if __name__ == "__main__":
    PAGE.write_text(page())
