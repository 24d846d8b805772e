"""Models of the optional fastembed package, which fetches them from their makers once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from memory.finding.embedding.embedder import UNCALIBRATED, EmbedderDown, Vector, unit


class FastembedEmbedder:
    """A model by the name that fastembed gives it."""

    bars = UNCALIBRATED
    is_in_process = True

    def __init__(self, *, model: str, models: Path, threads: int) -> None:
        """
        :raises ImproperlyConfigured: if the package is absent or does not know the model
        :raises EmbedderDown: if the model cannot be fetched
        """
        self.id = f"fastembed:{model}"
        self._model = _load(model, models, threads)
        (probe,) = self._model.embed(["dimension"])
        self.dimension = len(probe)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of the texts, in their order."""
        return [unit(row, self.dimension) for row in self._model.embed(list(texts))]


def _load(model: str, models: Path, threads: int) -> Any:
    try:
        from fastembed import TextEmbedding  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise ImproperlyConfigured(
            f"EMBEDDER=fastembed:{model} needs: pip install 'palimpsest[fastembed]'"
        ) from error
    known = {entry["model"].lower() for entry in TextEmbedding.list_supported_models()}
    if model.lower() not in known:
        raise ImproperlyConfigured(f"EMBEDDER: fastembed knows no model {model!r}")
    try:
        return TextEmbedding(model, cache_dir=str(models / "fastembed"), threads=threads)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbedderDown(f"fastembed:{model} cannot be loaded: {type(error).__name__}") from None
