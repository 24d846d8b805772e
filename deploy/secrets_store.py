"""Secrets that the product makes for itself, kept in DATA_DIR in files that only it can read."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_secrets(path: Path) -> dict[str, str]:
    """Return the secrets by name; none if there is no such file."""
    try:
        kept = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return {str(name): str(secret) for name, secret in kept.items()}


def keep_secrets(path: Path, secrets: Mapping[str, Any]) -> None:
    """Write the secrets, mode 0600 from the first byte on, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        json.dump(secrets, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)
