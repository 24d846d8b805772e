"""`python -m tests.mcp_listing`: write down what agents are told of the tools, to be reviewed."""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

PINNED = Path(__file__).with_name("mcp_tools.json")


def pinned() -> dict[str, Any]:
    """Return what is listed, with what is long and generated as a digest."""
    from deploy.mcp.server import listed
    from deploy.mcp.tools import TOOLS
    from deploy.mcp.words import INSTRUCTIONS

    tools = [
        listed(tool).model_dump(by_alias=True, mode="json", exclude_none=True)
        for tool in TOOLS.values()
    ]
    for tool in tools:
        tool["outputSchema"] = _digest(json.dumps(tool["outputSchema"], sort_keys=True))
        tool["description_sha256"] = _digest(tool["description"])
    return {"instructions_sha256": _digest(INSTRUCTIONS), "tools": tools}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def main() -> None:
    """Write the file anew."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")
    os.environ.setdefault("SECRET_KEY", "only-for-writing-down-what-is-listed-everywhere")
    django.setup()
    text = json.dumps(pinned(), indent=1, ensure_ascii=False)
    PINNED.write_text(f"{text}\n", encoding="utf-8")
    sys.stdout.write(f"{PINNED} is written\n")


if __name__ == "__main__":
    main()
