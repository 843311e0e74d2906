"""What a profile names that is elsewhere, and whether it answers: services, stores, and their clocks."""

import http.client
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import urlsplit

from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.store import on_s3

_SECONDS = 3
_PORTS = {"http": 80, "https": 443, "thrift": 9083, "postgresql": 5432}


@dataclass(frozen=True)
class Address:
    """Where something listens, and which key of the profile says so."""

    key: str
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """``host:port``, without what else is in a URL."""
        return f"{self.host}:{self.port}"


def addresses(profile: Profile) -> Iterator[Address]:
    """The services that the profile names, each once."""
    catalog, store = profile.catalog, profile.store
    urls = [
        ("catalog.uri", catalog.uri),
        ("catalog.endpoint", catalog.endpoint),
        ("catalog.oauth2_server_uri", catalog.oauth2_server_uri),
        ("store.endpoint", store.endpoint if store else None),
        *((f"store.buckets.{name}.endpoint", one.endpoint) for name, one in (store.buckets if store else {}).items()),
    ]
    found = dict[str, Address]()
    for key, url in urls:
        # A metastore may be named with those that stand in for it.
        for one in (url or "").split(","):
            parts = urlsplit(one.strip())
            port = parts.port or _PORTS.get(parts.scheme)
            if parts.hostname and port:
                address = Address(key, parts.scheme, parts.hostname, port)
                found.setdefault(str(address), address)
    yield from found.values()


@cache
def unreachable(address: Address) -> str | None:
    """Why nothing answers there; None: something does. Asked once: several checks depend on it."""
    try:
        with socket.create_connection((address.host, address.port), timeout=_SECONDS):
            return None
    except UnicodeError:
        return "that is no name of a host"
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__


def clock_of(address: Address) -> timedelta | None:
    """How far this machine's clock is ahead of that of a server of HTTP; None: it does not tell."""
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.host, address.port, timeout=_SECONDS)
    try:
        connection.request("HEAD", "/")
        told = connection.getresponse().getheader("Date")
        return datetime.now(UTC) - parsedate_to_datetime(told) if told else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def buckets(profile: Profile, raw: Iterator[str]) -> list[str]:
    """The buckets of the warehouse and of raw files, each once."""
    places = [profile.catalog.warehouse or "", *raw]
    return list(dict.fromkeys(urlsplit(place).netloc for place in places if on_s3(place)))
