"""``on_failure``: who is told when maintenance or an append has failed."""

import shlex
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr

from iceberg_assets.profiles.values import secret
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.units import Age


def _url(value: object) -> SecretStr | None:
    found = secret(value)
    if found is None:
        return None
    parts = urlsplit(found.get_secret_value())
    if parts.scheme not in ("http", "https"):
        raise ValueError("expected a URL that begins with http:// or https://")
    # urllib takes them for a part of the host's name, and nobody would be told.
    if "@" in parts.netloc:
        raise ValueError("expected a URL without user and password: name a command that sends them, such as curl")
    return found


def _command(value: object) -> SecretStr | None:
    found = secret(value)
    try:
        shlex.split(found.get_secret_value() if found else "")
    except ValueError as error:
        raise ValueError(f"expected a command as a shell reads it: {error}") from None
    return found


class Hook(SpecModel):
    """A command, which reads the payload from its standard input, a URL, which it is posted to, or both.

    Attributes:
        command: program and arguments, quoted as for a shell; no shell runs them.
        url: may hold a secret, as webhooks do; neither of the two is ever shown.
        timeout: of each; after that it is given up.
    """

    command: Annotated[SecretStr | None, BeforeValidator(_command)] = None
    url: Annotated[SecretStr | None, BeforeValidator(_url)] = None
    timeout: Annotated[Age, Field(gt=timedelta(0), le=timedelta(seconds=30))] = timedelta(seconds=10)

    @property
    def tells(self) -> bool:
        """Whether anybody is told."""
        return self.command is not None or self.url is not None
