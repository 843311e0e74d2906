"""Errors of a profile's catalog or store, whichever engine met them, in one sentence that names profile and key."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg.exceptions import BadRequestError

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError, ServiceError, in_brief
from iceberg_assets.profiles.profile import Profile
from iceberg_assets.profiles.values import without_secrets


@dataclass(frozen=True)
class _Service:
    """What a service is known by in errors.

    Attributes:
        section: of the profile.
        signs: names of classes and words that engines and drivers use of its refusals and failures, and of nothing
            else: a file that is not there is no failure of the store.
        keys: to look at, of that section.
    """

    section: str
    signs: re.Pattern[str]
    keys: str


_STORE = _Service(
    "store",
    re.compile(
        r"awssdk\.services\.s3\.model\.(?!NoSuchKey)|\bS3Exception|AWSBadRequest|AWSServiceIO|AWSClientIO|AWSStatus500|"
        r"AWS Error (?!NO_SUCH_KEY)|NoSuchBucket|SignatureDoesNotMatch|InvalidAccessKeyId"
    ),
    "endpoint, access_key and secret_key",
)

# The store comes first: a catalog's error may be about a metadata file, and then names both.
_SERVICES = (
    _STORE,
    _Service(
        "catalog",
        re.compile(
            r"RESTException|RESTError|OAuthError|NotAuthorized|Unauthorized|Forbidden|ServiceUnavailable|ServiceFailure|"
            r"ServerError|CommitStateUnknown|RequestException|"
            r"UncheckedSQLException|PSQLException|psycopg2|OperationalError|"
            r"TTransportException|RuntimeMetaException|"
            r"awssdk\.services\.glue|GlueException|botocore"
        ),
        "its address and credentials",
    ),
    _Service(
        "catalog or store",
        re.compile(
            r"SdkClientException|ConnectException|ConnectionError|HttpHostConnect|SocketTimeout|PermissionError"
        ),
        "their addresses",
    ),
)


def of_service(profile: Profile, error: BaseException) -> str | None:
    """The sentence about an error, where it is one of the profile's catalog or store; else None."""
    # What is a sentence with its key already is not put into another one.
    if isinstance(error, FileNotFoundError | BadRequestError | ConfigurationError):
        return None
    if _is_of_the_jvm(error):
        return (
            f"profile '{profile.name}': the JVM of Spark has ended while it was at work, killed or out of memory "
            f"({type(error).__name__}). Nothing is lost: try again; if it stays so, give it more by "
            "spark.driver.memory below spark, or ICEBERG_ASSETS_DRIVER_MEMORY"
        )
    kind = type(error)
    known_by = f"{kind.__module__} {' '.join(one.__name__ for one in kind.__mro__)}: {error}"
    found = next((one for one in _SERVICES if one.signs.search(known_by)), None)
    if found is None:
        return None
    endpoint = profile.store and profile.store.endpoint
    if endpoint and endpoint in known_by:
        found = _STORE
    at = {
        "store": endpoint,
        "catalog": profile.catalog.uri or profile.catalog.endpoint or profile.catalog.warehouse,
    }.get(found.section)
    said = " ".join(brief_of(profile, error).split())[:500]
    return (
        f"profile '{profile.name}', {found.section}{f' at {at}' if at else ''}: {kind.__name__}: {said}. "
        f"Nothing is lost: try again; if it stays so, look at {found.keys} below {found.section}"
    )


def _is_of_the_jvm(error: BaseException) -> bool:
    """Whether nobody answers at the other end of Py4J: its socket is refused or broken, and no service's is."""
    if not isinstance(error, ConnectionError) and type(error).__name__ != "Py4JNetworkError":
        return False
    frames = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(name.partition(".")[0] == "py4j" for name in frames)


@contextmanager
def naming_the_service(profile: Profile) -> Iterator[None]:
    """Errors of the profile's services become one sentence; all others pass as they are.

    Raises:
        ServiceError: the catalog or the store refused, or did not answer.
        ConfigurationError: a REST catalog finds fault with a name.
    """
    try:
        yield
    except IcebergAssetsError:
        raise
    except BadRequestError as error:
        said = without_secrets(str(error), profile)
        raise ConfigurationError(
            f"profile '{profile.name}': the catalog does not take what is declared: {said}; see the table's name"
        ) from shown_cause(profile, error)
    except Exception as error:
        cause = shown_cause(profile, error)
        if sentence := of_service(profile, error):
            raise ServiceError(sentence) from cause
        if cause is None:
            raise ServiceError(f"profile '{profile.name}': {brief_of(profile, error)}") from None
        raise


def brief_of(profile: Profile, error: BaseException) -> str:
    """An error in one line, without the profile's secrets."""
    return without_secrets(in_brief(error), profile)


def shown_cause(profile: Profile, error: BaseException) -> BaseException | None:
    """The error, to be raised from; None where it, or one behind it, repeats a secret: tracebacks show them all."""
    told = "".join(traceback.format_exception(error))
    return error if without_secrets(told, profile) == told else None
