"""Texts become vectors: offline by default, from a server on demand, never inside a door."""

import hashlib
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured

from memory.finding import embedding
from memory.finding.embedding import EmbedderDown, bundled, calibration, remote
from memory.finding.embedding.bundled import BundledEmbedder
from memory.finding.embedding.embedder import unit
from memory.finding.embedding.remote import RemoteEmbedder
from memory.store import vector_soon
from tests.fake_openai import FakeOpenAI, Reply, serving

KEY = "sk-not-to-be-seen"
TEXT = "the launch is on a Tuesday"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Return a folder in which the graph of the bundled model is kept."""
    folder = tmp_path_factory.mktemp("models")
    BundledEmbedder(models=folder, threads=2)
    return folder


@pytest.fixture(scope="session")
def minilm(models):
    return BundledEmbedder(models=models, threads=2)


@pytest.fixture
def fake():
    with serving(FakeOpenAI()) as server:
        yield server


@pytest.fixture
def ask(fake):
    embedder = RemoteEmbedder(model="small", base_url=fake.base_url, api_key=KEY)
    yield embedder
    embedder.close()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(remote, "TOTAL", 0.6)
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0.01)


def nearness(embedder, one, other):
    first, second = embedder.embed([one, other])
    return float(first @ second)


# The bundled model


def test_vectors_are_those_of_the_published_model(minilm):
    for vector, known in zip(
        minilm.embed(list(bundled.KNOWN)), bundled.KNOWN.values(), strict=True
    ):
        assert np.allclose(vector[: len(known)], known, atol=2e-5)


def test_vectors_have_unit_length_whatever_the_text(minilm):
    texts = [
        "",
        " ",
        "a",
        "部署前必须先运行数据库迁移。",
        "🚀" * 40,
        "x" * 5_000,
        "\n\t",
        "word " * 9_000,
    ]
    for vector in minilm.embed(texts):
        assert vector.dtype == np.float32
        assert vector.shape == (minilm.dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_meaning_is_nearer_than_words(minilm):
    question = "Where do we keep the passwords?"
    assert nearness(minilm, question, "Credentials are stored in the vault.") > nearness(
        minilm, question, "Where do we keep the bicycles?"
    )


def test_company_in_a_batch_does_not_change_a_vector(minilm):
    texts = ["short", TEXT, "a longer text " * 20, "and a very long one " * 60] * 5
    together = minilm.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.abs(minilm.embed([text])[0] - vector).max() < 1e-6


def test_no_texts_give_no_vectors(minilm):
    assert minilm.embed([]) == []


def test_end_of_a_long_text_counts_up_to_the_bound(minilm):
    page = "the build machine is described here at some length. " * 60
    assert nearness(minilm, page, page + "Penguins breed in Antarctica. " * 30) < 0.999

    within_bound = page * 12
    assert nearness(minilm, within_bound, within_bound + "Penguins breed there. ") == pytest.approx(
        1.0, abs=1e-5
    )


def test_longest_memory_is_embedded_in_bounded_time(minilm):
    started = time.monotonic()
    minilm.embed(["部署" * 5_400])
    assert time.monotonic() - started < 10


def test_threads_get_the_same_vectors(minilm):
    texts = [f"note {number} about the deployment" for number in range(24)]
    expected = minilm.embed(texts)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda text: minilm.embed([text])[0], texts))
    assert all(np.abs(a - b).max() < 1e-6 for a, b in zip(expected, found, strict=True))


def test_kept_graph_is_used_again(models):
    (graph,) = models.glob("*.onnx")
    before = graph.stat()
    BundledEmbedder(models=models, threads=1)
    assert (graph.stat().st_ino, graph.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("damage", ["cut", "flipped", "hash gone", "another graph"])
def test_damaged_graph_is_made_again(models, tmp_path, damage):
    (graph,) = models.glob("*.onnx")
    kept, noted = tmp_path / graph.name, tmp_path / f"{graph.name}.sha256"
    content = bytearray(graph.read_bytes())
    noted.write_text((models / noted.name).read_text())
    if damage == "cut":
        del content[1_000_000:]
    elif damage == "flipped":
        content[50_000_000] ^= 0x01
    elif damage == "hash gone":
        noted.unlink()
    else:
        content = bytearray(b"no graph at all")
        noted.write_text(hashlib.sha256(content).hexdigest())
    kept.write_bytes(content)

    BundledEmbedder(models=tmp_path, threads=2)

    assert kept.read_bytes() == graph.read_bytes()
    assert noted.read_text() == (models / noted.name).read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [kept.name, noted.name]


def test_folder_that_cannot_be_written_does_not_stop_the_model(tmp_path):
    (tmp_path / "models").write_text("a file where the folder should be")
    assert BundledEmbedder(models=tmp_path / "models", threads=1).embed([TEXT])


def test_foreign_weights_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "WEIGHTS", "0" * 64)
    with pytest.raises(bundled.WrongModelFiles, match=r"model\.safetensors has the SHA-256 53aa"):
        BundledEmbedder(models=tmp_path, threads=1)


def test_wrong_known_vector_is_noticed(monkeypatch, models, tmp_path):
    monkeypatch.setattr(bundled, "KNOWN", {TEXT: (0.5, 0.5)})
    with pytest.raises(bundled.WrongModelFiles, match="known vectors"):
        BundledEmbedder(models=tmp_path, threads=1)
    assert not list(tmp_path.iterdir())


def test_bars_hold_what_their_description_says(minilm):
    found = calibration.measure(minilm)
    bars = minilm.bars
    assert bars.candidate == 0.75
    assert found.share(found.restated, bars.collapse) >= 0.6
    assert found.share(found.restated, bars.coverage) >= 0.85
    assert found.share(found.covered, bars.candidate) >= 0.85
    assert found.share(found.different, bars.collapse) <= 0.12


# What counts as a vector


@pytest.mark.rule("T132")
@pytest.mark.parametrize(
    "numbers",
    [
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0],
        [],
        [[1.0, 2.0, 3.0]],
        [float("nan"), 0.0, 1.0],
        [float("inf"), 0.0, 1.0],
        [1e39, 0.0, 1.0],
        [1e-40, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        ["a", "b", "c"],
        {"1": 1.0},
        [10**400, 0, 0],
        None,
    ],
)
def test_numbers_that_are_no_vector_are_refused(numbers):
    with pytest.raises(EmbedderDown):
        unit(numbers, 3)


def test_large_and_small_numbers_become_unit_length():
    for scale in (1e-5, 1.0, 1e38):
        assert np.linalg.norm(unit([scale, scale, 0.0], 3)) == pytest.approx(1.0)


# A server


def test_server_gets_model_texts_and_key(fake, ask):
    vectors = ask.embed(["one", "two"])

    (request,) = fake.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "small", "input": ["one", "two"], "encoding_format": "float"}
    assert np.allclose(vectors[1], unit(fake.vector("two"), 8))


def test_answers_in_another_order_find_their_texts(fake, ask):
    fake.alter = lambda answer: answer | {"data": answer["data"][::-1]}
    first, second = ask.embed(["one", "two"])
    assert np.allclose(first, unit(fake.vector("one"), 8))
    assert np.allclose(second, unit(fake.vector("two"), 8))


def test_many_texts_are_sent_in_parts(fake, ask):
    texts = [f"text {number}" for number in range(300)]
    vectors = ask.embed(texts)
    assert [len(request.body["input"]) for request in fake.requests] == [128, 128, 44]
    assert np.allclose(vectors[299], unit(fake.vector("text 299"), 8))


def test_long_text_is_cut_at_a_whole_character(fake, ask):
    ask.embed(["é" * 20_000])
    (sent,) = fake.requests[0].body["input"]
    assert sent == "é" * 4_000


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_failure_is_tried_again(fake, ask, impatient, status):
    fake.script += [Reply(status), Reply(status)]
    assert len(ask.embed([TEXT])) == 1
    assert len(fake.requests) == 3


def test_wait_that_the_server_asks_for_is_kept(fake, ask):
    fake.script.append(Reply(429, headers={"Retry-After": "1"}))
    started = time.monotonic()
    ask.embed([TEXT])
    assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize("when", ["3600", "Wed, 01 Jan 2200 00:00:00 GMT"])
def test_wait_beyond_the_budget_is_not_begun(fake, ask, when):
    fake.always = Reply(503, headers={"Retry-After": when})
    started = time.monotonic()
    with pytest.raises(EmbedderDown, match="503"):
        ask.embed([TEXT])
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("nonsense", ["soon", "-1", "²", ""])
def test_senseless_wait_is_overlooked(fake, ask, impatient, nonsense):
    fake.script.append(Reply(503, headers={"Retry-After": nonsense.encode().decode("latin-1")}))
    assert ask.embed([TEXT])


def test_connection_that_breaks_off_is_tried_again(fake, ask, impatient):
    ask.embed([TEXT])
    fake.script.append(Reply(hang_up=True))
    assert ask.embed([TEXT])


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(400),
        Reply(401),
        Reply(302, headers={"Location": "http://127.0.0.1:9/"}),
        Reply(body=b"not json"),
        Reply(body=b"\xff\xfe"),
        Reply(body=b"[]"),
        Reply(body=b"[" * 100_000),
        Reply(body=b'{"data": null}'),
        Reply(body=b'{"data": [{"index": [], "embedding": [1]}]}'),
        Reply(delay=1.0),
        Reply(drip=0.05),
    ],
    ids=lambda reply: f"{reply.status} {reply.body[:12]!r} {reply.delay} {reply.drip}",
)
def test_server_that_fails_is_down_in_time_and_tells_no_secret(fake, ask, impatient, reply):
    fake.always = reply
    started = time.monotonic()
    with pytest.raises(EmbedderDown) as caught:
        ask.embed([TEXT])
    assert time.monotonic() - started < 1.5
    assert KEY not in str(caught.value)
    assert TEXT not in str(caught.value)


def test_server_that_is_not_there_is_down_at_once():
    with serving(FakeOpenAI()) as gone:
        pass
    embedder = RemoteEmbedder(model="small", base_url=gone.base_url, api_key=KEY)
    started = time.monotonic()
    with pytest.raises(EmbedderDown, match="cannot be reached"):
        embedder.embed([TEXT])
    assert time.monotonic() - started < 2
    embedder.close()


@pytest.mark.rule("T132")
@pytest.mark.parametrize(
    "vector",
    [
        [],
        [0.0] * 8,
        [1e-40] * 8,
        [float("nan")] + [1.0] * 7,
        [float("inf")] + [1.0] * 7,
        [1e39] + [1.0] * 7,
        ["1.0"] * 8,
        [True] * 8,
        [[1.0] * 8],
        {"0": 1.0},
        "AAAA",
        None,
        [1.0] * 16_001,
    ],
    ids=lambda vector: json.dumps(vector)[:20],
)
def test_answer_that_is_no_vector_is_refused_and_settles_nothing(fake, ask, vector):
    fake.alter = lambda answer: answer | {"data": [{"index": 0, "embedding": vector}]}
    with pytest.raises(EmbedderDown):
        ask.embed([TEXT])

    fake.alter = lambda answer: answer
    assert ask.embed([TEXT])[0].shape == (8,)


@pytest.mark.parametrize("indexes", [[0], [0, 0], [1, 2], [0, 1, 2], [-1, 0]])
def test_answer_that_is_not_one_vector_a_text_is_refused(fake, ask, indexes):
    data = [{"index": index, "embedding": [1.0] * 8} for index in indexes]
    fake.alter = lambda answer: answer | {"data": data}
    with pytest.raises(EmbedderDown, match="one embedding for each of 2"):
        ask.embed(["one", "two"])


@pytest.mark.rule("T132")
@pytest.mark.parametrize("dimension", [7, 9])
def test_dimension_that_changes_is_refused(fake, ask, dimension):
    assert ask.dimension == 8
    fake.dimension = dimension
    with pytest.raises(EmbedderDown, match=f"{dimension} dimensions; it was 8"):
        ask.embed([TEXT])
    assert ask.dimension == 8


@pytest.mark.rule("T132")
def test_model_that_changes_is_refused(fake, ask):
    ask.embed([TEXT])
    fake.model = "another"
    with pytest.raises(EmbedderDown, match="another model"):
        ask.embed([TEXT])


# The choice


def test_settings_choose_the_embedder_and_it_is_built_once(settings, fake):
    settings.EMBEDDER = "openai:small"
    settings.EMBEDDER_BASE_URL = fake.base_url
    settings.EMBEDDER_API_KEY = KEY
    found = []
    threads = [threading.Thread(target=lambda: found.append(embedding.current())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert isinstance(found[0], RemoteEmbedder)
    assert found[0].id == "openai:small"
    assert np.allclose(embedding.embed(TEXT), embedding.embed_all(["x", TEXT])[1])
    found[0].close()


def test_bundled_model_is_chosen_and_asks_no_network(settings, models, monkeypatch):
    settings.EMBEDDER = "bundled"
    settings.DATA_DIR = models.parent
    monkeypatch.setattr("socket.socket.connect", pytest.fail)
    vector = embedding.embed(TEXT)
    assert embedding.current().id == "bundled:all-minilm-l6-v2"
    assert vector.shape == (embedding.current().dimension,)


@pytest.mark.parametrize("name", ["", "openai", "openai:", "fastembed:", "bundled:x", "cohere:y"])
def test_unknown_embedder_is_refused_with_the_choices(settings, name):
    settings.EMBEDDER = name
    with pytest.raises(ImproperlyConfigured, match="bundled, openai:<model> or fastembed:<model>"):
        embedding.current()


def test_missing_fastembed_says_how_to_get_it(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    settings.EMBEDDER = "fastembed:BAAI/bge-small-en-v1.5"
    with pytest.raises(ImproperlyConfigured, match=r"pip install 'palimpsest\[fastembed\]'"):
        embedding.current()


@pytest.mark.rule("WR-02")
def test_nothing_is_embedded_inside_a_door(monkeypatch):
    monkeypatch.setattr("tenants.context.is_inside", lambda: True)
    with pytest.raises(RuntimeError, match="must not run inside"):
        embedding.embed_beside(TEXT)
    with pytest.raises(RuntimeError, match="must not run inside"):
        embedding.embed(TEXT)
    with pytest.raises(RuntimeError, match="must not run inside"):
        embedding.embed_all([TEXT])


def test_benchmark_runs_on_a_tiny_size(settings, models):
    program = (
        "import json, sys\nfrom pathlib import Path\nfrom bench.embedding import measure\n"
        "print(json.dumps(measure(quick=True)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(answer.stdout)["B9"]["value"] > 0


@pytest.mark.rule("RC-01")
def test_a_model_of_this_process_computes_while_something_else_is_done(monkeypatch, minilm):
    begun, awaited = threading.Event(), threading.Event()
    alone = minilm.embed([TEXT])[0]

    class Slow:
        is_in_process = True

        def embed(self, texts):
            begun.set()
            assert awaited.wait(5)
            return minilm.embed(texts)

    monkeypatch.setattr(embedding, "current", Slow)
    vector = embedding.embed_beside(TEXT)
    assert begun.wait(5)
    awaited.set()
    assert np.array_equal(vector(), alone)


def test_a_server_is_waited_for_before_a_door_is_opened(monkeypatch):
    asked = []

    class Server:
        is_in_process = False

        def embed(self, texts):
            asked.append(texts)
            return [np.ones(3)]

    monkeypatch.setattr(embedding, "current", Server)
    vector = embedding.embed_beside(TEXT)
    assert asked == [[TEXT]]
    vector()
    assert len(asked) == 1


@pytest.mark.parametrize("is_in_process", [True, False])
def test_an_embedder_that_is_down_is_no_failure_of_the_search(monkeypatch, is_in_process):
    class Down:
        def __init__(self):
            self.is_in_process = is_in_process

        def embed(self, _texts):
            raise EmbedderDown("gone")

    monkeypatch.setattr(embedding, "current", Down)
    assert vector_soon(TEXT)() is None
