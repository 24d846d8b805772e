"""Whether a request was meant for this server: a page in somebody's browser must not pass."""

import re
from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from starlette.datastructures import Headers

from tenants.refusals import NotAllowed, Refusal

_ORIGIN = re.compile(r"https?://[^/?#@\s]+")


class ForeignHost(Refusal):
    status = HTTPStatus.MISDIRECTED_REQUEST
    code = "foreign_host"
    title = "Not this server's name"


def must_be_for_us(headers: Headers) -> None:
    """
    Refuse what was sent to another name, or from another site's page.

    Programs send no Origin; browsers cannot leave it out. Whoever has a name of ours point at his
    own page, or the other way round, is caught by either.

    :raises ForeignHost: if the Host is none of ALLOWED_HOSTS
    :raises NotAllowed: if there is an Origin, and its host is none of them
    """
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _is_ours(hosts[0]):
        raise ForeignHost("This server does not answer to that Host; see ALLOWED_HOSTS.")
    for origin in headers.getlist("origin"):
        if not _ORIGIN.fullmatch(origin) or not _is_ours(urlsplit(origin).netloc):
            raise NotAllowed("Pages of that Origin may not call this server; see ALLOWED_HOSTS.")


def _is_ours(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
