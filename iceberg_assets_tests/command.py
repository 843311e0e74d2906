"""The command line as a test calls it, within its own process."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from iceberg_assets.cli import app


def run(*arguments: str, fails: int = 0) -> Result:
    """A command that ends with that code."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == fails, result.output
    return result


def run_json(*arguments: str) -> Any:
    """What a command says to programs."""
    return json.loads(run(*arguments, "--json").stdout)
