"""Which subjects changed when files did: by the patterns that a project holds for that."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pathspec import PathSpec


def subjects_of(
    files: Iterable[str], path_subjects: Sequence[Mapping[str, str]]
) -> dict[str, list[str]]:
    """
    Return the files by the subject that they tell of.

    A file tells of the subject of every pattern that it matches. A name compares as it reads: some
    systems write ö as one character and some as two.

    :param files: paths within the repository, separated by /
    :param path_subjects: patterns as in .gitignore, each with its subject
    """
    found: dict[str, list[str]] = {}
    for file in dict.fromkeys(files):
        name = unicodedata.normalize("NFC", file)
        for one in path_subjects:
            if _matcher(one["pattern"]).match_file(name):
                touched = found.setdefault(one["subject"], [])
                # Another pattern of the same subject may have named it just now.
                if touched[-1:] != [file]:
                    touched.append(file)
    return found


@lru_cache(maxsize=1000)
def _matcher(pattern: str) -> PathSpec[Any]:
    return PathSpec.from_lines("gitignore", [unicodedata.normalize("NFC", pattern)])
