"""What `make up` says once everything runs."""

import json
import time
from pathlib import Path
from typing import Any

from tenants.one_time_codes import code_at

_WELCOME = """
Palimpsest is running. Ctrl-C stops it; what is in {data_dir} stays.

  Admin     {base_url}/admin/
            admin      {admin[password]}   code now {admin_code}, from {admin[totp_secret]}
            reviewer   {reviewer[password]}   code now {reviewer_code}, from {reviewer[totp_secret]}
            (a later code: .venv/bin/python -m deploy.demo.code admin)
  API       {base_url}/api/v1        described at {base_url}/api/docs
  MCP       {mcp_url}
  Tokens    {path}

{tokens}

Remember something as an agent, and recall it as a colleague:

  curl -s {base_url}/api/v1/memories -H "Authorization: Bearer {agent}" \\
       -H "Content-Type: application/json" \\
       -d '{{"content": "Staging listens on port 5433, not 5432.", "kind": "gotcha"}}'

  curl -s {base_url}/api/v1/recall -H "Authorization: Bearer {senior}" \\
       -H "Content-Type: application/json" -d '{{"query": "staging port"}}'

Connect an agent, in Claude Code or wherever a client takes such an entry (others: docs/agents.md):

  claude mcp add --transport http palimpsest {mcp_url} --header "Authorization: Bearer {agent}"

  {entry}

`make demo` in another terminal tells the whole story.
"""


def welcome(path: Path, base_url: str) -> str:
    """Return the addresses, log-ins and tokens of the demo, and the first calls to make."""
    demo = json.loads(path.read_text()) if path.is_file() else None
    if demo is None:
        return f"Palimpsest is running at {base_url}. Ctrl-C stops it."
    tokens = demo["tokens"]
    lines = [
        f"            {name:<13}{kept['kind']:<9}level {kept['level']}   {kept['token']}"
        for name, kept in tokens.items()
    ]
    return _WELCOME.format(
        data_dir=path.parent,
        base_url=base_url,
        admin=demo["logins"]["admin"],
        reviewer=demo["logins"]["reviewer"],
        admin_code=code_at(demo["logins"]["admin"]["totp_secret"], time.time()),
        reviewer_code=code_at(demo["logins"]["reviewer"]["totp_secret"], time.time()),
        path=path,
        mcp_url=demo["mcp_url"],
        entry=json.dumps(client_entry(demo["mcp_url"], tokens["agent"]["token"])),
        tokens="\n".join(lines),
        agent=tokens["agent"]["token"],
        senior=tokens["senior"]["token"],
    )


def client_entry(mcp_url: str, token: str) -> dict[str, Any]:
    """Return what most MCP clients take into their settings as it is."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"palimpsest": {"type": "http", "url": mcp_url, "headers": headers}}}
