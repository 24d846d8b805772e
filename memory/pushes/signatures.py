"""
The secret that a host signs its pushes with: derived, and stored nowhere.

GitHub signs the body (HMAC-SHA-256, X-Hub-Signature-256); GitLab shows the secret itself
(X-Gitlab-Token).
"""

import hashlib
import hmac
from collections.abc import Mapping
from uuid import UUID

from django.conf import settings

from memory.pushes.payloads import GITHUB

GITHUB_SIGNATURE = "X-Hub-Signature-256"


def secret_of(source_id: UUID, version: int) -> str:
    """Return the secret of a push source; another version has another one."""
    named = f"push source {source_id} {version}".encode()
    return hmac.new(settings.SECRET_KEY.encode(), named, hashlib.sha256).hexdigest()


def is_signed(host: str, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return whether the body comes from who has the secret; compared in constant time."""
    if host == GITHUB:
        signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        shown = headers.get(GITHUB_SIGNATURE) or ""
    else:
        signature, shown = secret, headers.get("X-Gitlab-Token") or ""
    return hmac.compare_digest(signature.encode(), shown.encode("utf-8", "replace"))
