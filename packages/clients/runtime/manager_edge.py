"""Client of the API of Manager Edge, generated from its OpenAPI documents. It needs Python 3.9 and no other package."""

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

_MAX_WAIT_S = 60.0


class ManagerError(Exception):
    """An error of the manager (HTTP status 200, v3 contract) or of the edge, with its code and HTTP status."""

    def __init__(self, code: int, message: str, status: int, suggestion: Optional[str] = None) -> None:
        super().__init__(f"{code}: {message}" + (f" {suggestion}" if suggestion else ""))
        self.code = code
        self.message = message
        self.status = status
        self.suggestion = suggestion


class _Client:
    """Sends requests. Reads are sent again after 429, 503 or a lost connection; writes are sent once."""

    def __init__(
        self,
        url: str,
        *,
        user: Optional[str] = None,
        password: Optional[str] = None,
        token: Optional[str] = None,
        retries: int = 2,
        timeout: float = 150.0,
        context: Any = None,
    ) -> None:
        if (token is None) == (user is None or password is None):
            raise ValueError("give user and password, or token")
        self._url = url.rstrip("/")
        self._token = token
        self._basic = None if token else "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self._retries = retries
        self._timeout = timeout
        handlers = [] if context is None else [urllib.request.HTTPSHandler(context=context)]
        self._opener = urllib.request.build_opener(_NoRedirect, *handlers)
        #: Headers of the last response, such as Cache-Status and Age.
        self.headers: Mapping[str, str] = {}

    def _authorization(self) -> str:
        return f"Bearer {self._token}" if self._token else str(self._basic)

    def _renew(self) -> bool:
        """Returns whether a request that was refused with 401 may be sent again."""
        return False

    def _call(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        query: Mapping[str, Any],
        body: Any = None,
        media: str = "",
    ) -> Any:
        for name, value in params.items():
            if str(value) in ("", ".", ".."):
                raise ValueError(f"{name} must be a name or an id")
            path = path.replace("{" + name + "}", urllib.parse.quote(str(value), safe=","))
        pairs = [(name, _text(value)) for name, value in query.items() if value is not None]
        target = path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")
        data = json.dumps(body).encode() if media == "application/json" and body is not None else body
        return self._decode(*self._send(method, target, data, media if data is not None else ""))

    def _send(self, method: str, target: str, data: Optional[bytes], media: str) -> "tuple[int, Mapping[str, str], bytes]":
        attempts = self._retries if method == "GET" else 0
        attempt = 0
        renewed = False
        while True:
            headers = {"Authorization": self._authorization(), "Accept": "application/json, application/problem+json"}
            if media:
                headers["Content-Type"] = media
            request = urllib.request.Request(self._url + target, data=data, headers=headers, method=method)
            wait = 0.2 * 2**attempt
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return response.status, response.headers, response.read()
            except urllib.error.HTTPError as error:
                if error.code == 401 and not renewed and self._renew():
                    renewed = True
                    continue
                if error.code not in (429, 503) or attempt >= attempts:
                    return error.code, error.headers, error.read()
                wait = min(float(error.headers.get("Retry-After") or wait), _MAX_WAIT_S)
            except urllib.error.URLError:
                if attempt >= attempts:
                    raise
            attempt += 1
            time.sleep(wait)

    def _decode(self, status: int, headers: Mapping[str, str], data: bytes) -> Any:
        self.headers = headers
        kind = (headers.get("Content-Type") or "").split(";")[0]
        if "json" not in kind:
            if status >= 400:
                raise ManagerError(status, data.decode(errors="replace"), status)
            return data.decode(errors="replace")
        value = json.loads(data)
        if status >= 400:
            raise ManagerError(
                value.get("error", status), value.get("detail", value.get("message", "")), status, value.get("suggestion")
            )
        return self._checked(value, status)

    def _checked(self, value: Any, status: int) -> Any:
        return value


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The credentials are for one edge."""

    def redirect_request(self, *_args: Any) -> None:
        return None


class _V3(_Client):
    def _checked(self, value: Any, status: int) -> Any:
        if isinstance(value, dict) and value.get("error", 0) != 0:
            raise ManagerError(value["error"], value.get("message", ""), status)
        return value["data"] if isinstance(value, dict) and "data" in value else value


class _V4(_Client):
    def _authorization(self) -> str:
        if self._token is None:
            self._log_in()
        return f"Bearer {self._token}"

    def _renew(self) -> bool:
        if self._basic is None:
            return False
        self._token = None
        return True

    def _log_in(self) -> None:
        headers = {"Authorization": str(self._basic)}
        request = urllib.request.Request(self._url + "/security/user/authenticate", headers=headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                self._token = json.loads(response.read())["data"]["token"]
        except urllib.error.HTTPError as error:
            self._decode(error.code, error.headers, error.read())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    return str(value)


def all_rows(read: Callable[..., Any], *, limit: int = 500, **parameters: Any) -> Iterator[Any]:
    """Yields all rows of a collection, such as all_rows(client.get_agents, sort="+id")."""
    offset = 0
    while True:
        data = read(limit=limit, offset=offset, **parameters)
        data = data.get("data", data)
        rows = data.get("items", data.get("affected_items", []))
        yield from rows
        offset += len(rows)
        if not rows or offset >= data.get("totalItems", data.get("total_affected_items", 0)):
            return
