"""Files of JSON Lines: an object on each line, and the line named where there is none."""

from collections.abc import Iterator
from typing import Any

from memory.exchange.drafts import Faults
from memory.text import is_blank
from tenants.parsing import MalformedJson, read_json
from tenants.refusals import Invalid


def objects_of(text: str, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each object with its place; lines that hold none are faults, and blank ones nothing."""
    for number, line in enumerate(text.split("\n"), 1):
        if is_blank(line):
            continue
        place = f"line {number}"
        try:
            said = read_json(line.encode("utf-8", "surrogatepass"))
        except (MalformedJson, Invalid) as error:
            faults.add(place, error.detail, "malformed_json")
            continue
        if isinstance(said, dict):
            yield place, said
        else:
            faults.add(place, "must be a JSON object", "wrong_type")
