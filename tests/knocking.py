"""Asking with a token, as a client does, once or from many threads."""

import time
from concurrent.futures import ThreadPoolExecutor

from django.db import connection
from django.test import Client

from tenants.founding import OWNER
from tenants.models import Token
from tenants.tokens import digest_of


def knock(authorization=None, address="127.0.0.1", path="/api/v1/whoami", **more):
    """Ask with this header, from this address."""
    headers = {} if authorization is None else {"HTTP_AUTHORIZATION": authorization}
    return Client().get(path, REMOTE_ADDR=address, **headers, **more)


def let_in(token):
    return knock(f"Bearer {token}").status_code


def own(token, **changes):
    """Change a token behind the product's back, as time would."""
    Token.objects.using(OWNER).filter(digest=digest_of(token)).update(**changes)


def many(count, call):
    """Do something on several threads at once."""

    def once(number):
        try:
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(once, range(count)))


def early_in_a_minute():
    """Wait until a minute has room for what follows: requests are counted by the minute."""
    seconds = time.time() % 60
    if seconds > 48:
        time.sleep(60.1 - seconds)
