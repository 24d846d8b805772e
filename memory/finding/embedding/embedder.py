"""What an embedder is, and what counts as a vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One dimension, unit length, every number finite."""

LARGEST_DIMENSION = 16_000
"""The most numbers a column of PostgreSQL's vector type holds."""

SHORTEST = 1e-6
"""A raw vector shorter than this points nowhere."""


class EmbedderDown(Exception):
    """No vector could be had. The message carries neither key nor text."""


@dataclass(frozen=True)
class Bars:
    """
    The cosines at which two texts mean something to each other, for one embedder.

    candidate: strictly above it, a neighbour is compared for conflict.
    coverage: at or above it, a memory already says what a provisional note says.
    collapse: at or above it, one text is a near-verbatim restatement of the other.
    sweep_floor: at or above it, the sweep looks at a pair.

    Similarity alone never decides: texts whose numbers, names or negations differ are different
    however close they lie, and coverage and collapse are asked only after that.
    """

    candidate: float
    coverage: float
    collapse: float
    sweep_floor: float


UNCALIBRATED = Bars(candidate=0.75, coverage=0.95, collapse=0.98, sweep_floor=0.75)
"""For a model nobody measured: rather two memories too many than one absorbed by mistake."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from several threads."""

    @property
    def id(self) -> str:
        """The model and its version: vectors of different ids are never compared."""

    @property
    def dimension(self) -> int: ...

    @property
    def is_in_process(self) -> bool:
        """Whether it computes here, and nobody is waited for over a network."""

    @property
    def bars(self) -> Bars: ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """
        Return the vectors of the texts, in their order.

        :raises EmbedderDown: if there is no answer, or not the right one
        """


def unit(numbers: ArrayLike, dimension: int) -> Vector:
    """
    Return the numbers as a vector of unit length.

    :raises EmbedderDown: if they are not that many numbers, not all finite, or all (next to) zero
    """
    try:
        with np.errstate(over="ignore"):
            raw = np.asarray(numbers, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise EmbedderDown("an embedding is not a list of numbers") from None
    if raw.shape != (dimension,):
        raise EmbedderDown(f"an embedding has the shape {raw.shape}; expected ({dimension},)")
    if not np.isfinite(raw).all():
        raise EmbedderDown("an embedding holds a number that is not finite")
    # In double precision: the square of a large float32 is no float32 any more.
    length = float(np.linalg.norm(raw.astype(np.float64)))
    if length < SHORTEST:
        raise EmbedderDown("an embedding is zero")
    return (raw / length).astype(np.float32)
