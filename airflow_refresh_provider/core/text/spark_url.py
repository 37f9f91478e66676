"""URLs of Spark Connect servers: which of them Spark accepts, and which part of them may be shown.

`sc://host:port`, where the port may be left out, with parameters such as `/;use_ssl=true;token=...` behind it. A URL is
checked before it is used: Spark's own client would complain in the middle of a run.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import unquote

_SCHEME = "sc://"
_ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>.*))?", re.DOTALL)
_NAME = re.compile(r"[\w.-]+")
_PORT = re.compile(r"[0-9]{1,5}")
# Most parameters travel as metadata of gRPC, whose names are of these characters.
_PARAMETER = re.compile(r"(?P<name>[a-z0-9_.-]+)=(?P<value>[^=?#\s]*)")


def shown(url: str) -> str:
    """A URL without what may be a secret: its parameters, however they are separated, and a user before the host."""
    without_parameters = re.split(r"/?[;?#]", url, maxsplit=1)[0]
    return re.sub(r"(?<=//).*@", "", without_parameters, flags=re.DOTALL)


def problem(url: str) -> str | None:
    """Why Spark Connect does not accept a URL, without repeating any part of it; None when it does."""
    if not url.startswith(_SCHEME):
        return f"it does not begin with {_SCHEME}"
    place, has_parameters, parameters = url.removeprefix(_SCHEME).partition(";")
    authority, slash, path = place.partition("/")
    address = _ADDRESS.fullmatch(authority)
    if address is None or not _is_host(address["host"]):
        return "it does not name a host, or a host and a port"
    if address["port"] is not None and not _is_port(address["port"]):
        return "its port is not a number from 1 to 65535"
    if path:
        return "it has a path"
    if has_parameters and not slash:
        return "parameters begin with /; and not with ; alone"
    if has_parameters and not all(_is_parameter(parameter) for parameter in parameters.split(";")):
        return "its parameters are not written as /;name=value;name=value"
    return None


def _is_host(host: str) -> bool:
    if not host.startswith("["):
        return _NAME.fullmatch(host) is not None
    try:
        IPv6Address(host[1:-1])
    except AddressValueError:
        return False
    return True


def _is_port(port: str) -> bool:
    return _PORT.fullmatch(port) is not None and 1 <= int(port) <= 65535


def _is_parameter(parameter: str) -> bool:
    found = _PARAMETER.fullmatch(parameter)
    return found is not None and unquote(found["value"]).isprintable()
