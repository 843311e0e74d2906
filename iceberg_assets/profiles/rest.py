"""PyIceberg's REST catalog, made to try again where that helps, to give up in the end, and to sign what it sends.

PyIceberg 0.12 waits for an answer for ever, takes the first 503 for the last word, and signs a body whose hash it does
not send, which services that are signed for as ``s3`` refuse.
"""

from functools import partial
from hashlib import sha256
from http import HTTPStatus

from pyiceberg.catalog.rest import SIGV4, RestCatalog
from pyiceberg.utils.properties import property_as_bool
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.util.retry import Retry

from iceberg_assets.profiles.values import is_sensitive, with_halves

_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
_RETRIES = Retry(
    total=5,
    # Waits of 0, 1, 2, 4 and 8 s.
    backoff_factor=0.5,
    status_forcelist=(429, 500, 502, 503, 504),
    # What changes something is not sent twice: whether the first one arrived is looked up in the table's metadata.
    allowed_methods=("GET", "HEAD"),
    raise_on_status=False,
)


class BoundedRestCatalog(RestCatalog):
    """A REST catalog whose reads outlive a short trouble of the service, and whose requests all come to an end."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        session.hooks["response"].append(partial(_without_what_was_sent, secrets=self._secrets))
        session.request = partial(session.request, timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS))  # type: ignore[method-assign]
        if property_as_bool(self.properties, SIGV4, False):
            session.auth = _Hashed(session.auth)
            signing = session.get_adapter(self.uri)
            assert isinstance(signing, HTTPAdapter)
            signing.max_retries = _RETRIES
        else:
            session.mount(self.uri, HTTPAdapter(max_retries=_RETRIES))
        return session

    @property
    def _secrets(self) -> frozenset[str]:
        return frozenset(with_halves(value for name, value in self.properties.items() if is_sensitive(name, value)))


def _without_what_was_sent(response: Response, *_: object, secrets: frozenset[str], **__: object) -> None:
    """Take secrets out of a refusal that repeats them, before they are in exceptions, and so in logs and events."""
    if response.status_code < HTTPStatus.BAD_REQUEST:
        return
    sent = str(response.request.headers.get("Authorization", "")).rpartition(" ")[2]
    text = response.content
    for one in sorted({*secrets, sent} - {""}, key=len, reverse=True):
        text = text.replace(one.encode(), "…".encode())
    response._content = text


class _Hashed(AuthBase):
    """Adds a body's hash, which the signature is then made over."""

    def __init__(self, behind: object) -> None:
        self._behind = behind

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        if callable(self._behind):
            request = self._behind(request)
        if request.body:
            body = request.body if isinstance(request.body, bytes) else str(request.body).encode()
            request.headers["x-amz-content-sha256"] = sha256(body).hexdigest()
        return request
