"""Which subjects changed when files did: by the patterns that a project holds for that."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pathspec import PathSpec


def subjects_of(
    files: Iterable[str], path_subjects: Sequence[Mapping[str, str]]
) -> dict[str, list[str]]:
    """
    Return the files by the subject that they tell of.

    A file tells of the subject of every pattern that it matches.

    :param files: paths within the repository, separated by /
    :param path_subjects: patterns as in .gitignore, each with its subject
    """
    found: dict[str, list[str]] = {}
    for file in dict.fromkeys(files):
        for one in path_subjects:
            if _matcher(one["pattern"]).match_file(file):
                touched = found.setdefault(one["subject"], [])
                if file not in touched:
                    touched.append(file)
    return found


@lru_cache(maxsize=1000)
def _matcher(pattern: str) -> PathSpec[Any]:
    return PathSpec.from_lines("gitignore", [pattern])
