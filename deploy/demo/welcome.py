"""What `make up` says once everything runs."""

import json
from pathlib import Path

_WELCOME = """
Palimpsest is running. Ctrl-C stops it; what is in {data_dir} stays.

  Admin     {base_url}/admin/
            admin      {admin[password]}
            reviewer   {reviewer[password]}
  API       {base_url}/api/v1        described at {base_url}/api/docs
  Tokens    {path}

{tokens}

Remember something as an agent, and recall it as a colleague:

  curl -s {base_url}/api/v1/memories -H "Authorization: Bearer {agent}" \\
       -H "Content-Type: application/json" \\
       -d '{{"content": "Staging listens on port 5433, not 5432.", "kind": "gotcha"}}'

  curl -s {base_url}/api/v1/recall -H "Authorization: Bearer {senior}" \\
       -H "Content-Type: application/json" -d '{{"query": "staging port"}}'

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
        path=path,
        tokens="\n".join(lines),
        agent=tokens["agent"]["token"],
        senior=tokens["senior"]["token"],
    )
