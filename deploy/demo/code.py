"""`python -m deploy.demo.code NAME`: the code that a demo log-in's authenticator shows now."""

import json
import os
import sys
import time
from pathlib import Path

from deploy.up import BASE
from tenants.one_time_codes import code_at


def main() -> int:
    """Print the code, and return 0; or what names there are, and return 2."""
    path = Path(os.environ.get("DATA_DIR") or BASE / "var") / "demo.json"
    logins = json.loads(path.read_text())["logins"] if path.is_file() else {}
    login = logins.get(sys.argv[-1])
    if login is None:
        sys.stderr.write(f"Name one of the log-ins in {path}: {', '.join(logins) or 'none'}\n")
        return 2
    sys.stdout.write(f"{code_at(login['totp_secret'], time.time())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
