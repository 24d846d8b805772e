"""
A canary in every tenant: a text that nobody else may ever be shown.

Plant one in what a tenant writes, and let every answer be sniffed at: a canary that sings to
somebody
of another tenant fails the test.
"""

import secrets
from typing import Any
from uuid import UUID


class CanarySang(AssertionError):
    """Somebody was shown what belongs to another tenant."""


class Sniffer:
    """Knows whose every canary is."""

    def __init__(self) -> None:
        self._whose: dict[str, UUID] = {}

    def plant(self, tenant_id: UUID) -> str:
        """Return a text to be put into what the tenant writes."""
        canary = f"canary{secrets.token_hex(10)}"
        self._whose[canary] = tenant_id
        return canary

    def sniff(self, text: str, tenant_id: UUID | None) -> None:
        """
        Look through what somebody of a tenant was shown; nobody's tenant is None.

        :raises CanarySang: if it holds another tenant's canary
        """
        for canary, whose in self._whose.items():
            if whose != tenant_id and canary in text:
                raise CanarySang(f"{canary} of tenant {whose} was shown to {tenant_id}")

    def sniff_answer(self, answer: Any, tenant_id: UUID | None) -> None:
        """
        Look through an HTTP answer, its headers too.

        :raises CanarySang: if it holds another tenant's canary
        """
        headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        self.sniff(headers + answer.content.decode("utf-8", "replace"), tenant_id)
