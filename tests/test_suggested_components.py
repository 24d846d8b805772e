"""What is read out of a text about subjects: suggested, and stated only once it is accepted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.trust.suggest import Suggestion, suggested_components
from tests.dirty import reported, trust, verified
from tests.growth import grows_with
from tests.memories import done, kept, refused, seen

DATA = Path(__file__).parent / "data"
FITTED_TO = (DATA / "suggestions.tsv", DATA / "suggestions_everyday.tsv")
HELD_OUT = DATA / "suggestions_held_out.tsv"
SAID = "The staging database port is 5433."


def labelled(lines: Path) -> list[tuple[str, set[Suggestion]]]:
    rows = [
        line.split("\t")
        for line in lines.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return [
        (
            text.replace("\\n", "\n"),
            set()
            if label == "-"
            else {Suggestion(*one.split(" = ", 1)) for one in label.split(" ; ")},
        )
        for text, label in rows
    ]


def weighed(sentences: list[tuple[str, set[Suggestion]]]) -> tuple[float, float]:
    """Return how much of what is suggested is right, and how much of what is said is suggested."""
    told = [(set(suggested_components(text)), wanted) for text, wanted in sentences]
    right = sum(len(found & wanted) for found, wanted in told)
    return (
        right / sum(len(found) for found, _ in told),
        right / sum(len(wanted) for _, wanted in told),
    )


@pytest.mark.parametrize("lines", [*FITTED_TO, HELD_OUT], ids=lambda path: path.stem)
def test_nine_of_ten_suggestions_are_right_and_most_of_what_is_said_is_found(lines):
    precision, recall = weighed(labelled(lines))
    print(f"{lines.name}: precision {precision:.3f}, recall {recall:.3f}")
    assert precision >= 0.9
    assert recall >= 0.8


def test_there_are_enough_sentences_and_most_of_them_say_nothing():
    fitted_to, everyday = map(labelled, FITTED_TO)
    held_out = labelled(HELD_OUT)
    assert len(fitted_to) >= 200
    assert len(everyday) >= 150
    assert len(held_out) >= 140
    for sentences in (fitted_to, everyday, held_out):
        assert sum(not wanted for _, wanted in sentences) >= 0.5 * len(sentences)


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("We do not know whether the\nstaging port is 5433.", []),
        ("The staging port is 5433\nonly on Tuesdays.", []),
        ("Lee's proposal:\nThe staging port is 5433.\n\nThe dev port is 3000.", ["dev.port"]),
        ("## Old setup\nThe staging port is 5433.\n## Now\nThe dev port is 3000.", ["dev.port"]),
        ("## How to connect\n\n- The staging port is 5433.", ["staging.port"]),
        ("staging port: 5433\nreplica port: 5434", ["staging.port", "replica.port"]),
        ("const address = server.address();", []),
        ("self.port = default_port", []),
        ("config.in: Regenerate.", []),
    ],
)
def test_what_stands_around_a_sentence_counts(text, subjects):
    assert [one.subject for one in suggested_components(text)] == subjects


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The service port is closed.", None),
        ("The service port is 8080.", "8080"),
        ("The release branch is frozen.", None),
        ("The release branch is main.", "main"),
        ("The message broker is slow.", None),
        ("The message broker is RabbitMQ.", "RabbitMQ"),
        ("The log format is human-readable.", None),
        ("The log bucket is apollo-logs.", "apollo-logs"),
        ("The build command is case-sensitive.", None),
        ("The build command is `make dist`.", "make dist"),
        ("The launch deadline is Friday.", None),
        ("The launch deadline is 2027-03-01.", "2027-03-01"),
        ("The database size is 41 GB.", None),
        ("The pool size is 20.", "20"),
    ],
)
def test_only_what_looks_like_a_value_of_its_attribute_is_suggested(text, value):
    assert [one.value for one in suggested_components(text)] == ([value] if value else [])


@pytest.mark.parametrize(
    "text",
    [
        "Exit code: 137",
        'The error message is "connection refused".',
        "The load average is 4.2",
        "The incident time: 14:02",
        "The response time is 230 ms.",
        "CPU usage: 93%",
        "cpu.usage: 93%",
        "LAST_EXIT_CODE=137",
        "The deployment host is web-3 for now.",
    ],
)
def test_what_somebody_saw_at_one_moment_suggests_nothing(text):
    assert suggested_components(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The backup time is 02:00.", "02:00"),
        ("The maximum queue length is 5000.", "5000"),
        ("Alert threshold: 85%", "85%"),
        ("The request timeout is 30 seconds.", "30 seconds"),
    ],
)
def test_what_is_set_is_suggested_though_it_is_measured(text, value):
    (suggested,) = suggested_components(text)
    assert suggested.value == value


@pytest.mark.parametrize(
    "text",
    ["a" * 20_000, "The " * 5_000, "x: " * 5_000, "`" * 9_000, "The port is " + "1," * 9_000],
)
def test_no_text_is_looked_at_for_long(text):
    assert suggested_components(text) == []


@given(st.text(max_size=300), st.sampled_from(["The port is ", "a.b: ", "\n## ", "```", ""]))
def test_no_text_is_too_odd(text, before):
    for one in suggested_components(before + text):
        assert one.subject
        assert one.value


@pytest.mark.parametrize(
    "piece", ["a ", "a-b.c/", "The port ", "a.b: ", "\na", "\n", "x (", "`", "v1.", "1,", "é "]
)
def test_the_time_does_not_grow_with_the_text(piece):
    assert grows_with(suggested_components, piece * (100_000 // len(piece)))


def test_a_secret_is_never_suggested():
    assert suggested_components("The database password is hunter22.\nDB_TOKEN=abc-123") == []


@pytest.mark.rule("DE-04")
def test_a_suggestion_is_told_apart_and_states_nothing(office):
    first = kept(office.senior, SAID, project="apollo")
    second = done(
        office.senior.post(
            "/memories", {"content": "Staging database port: 6000", "project": "apollo"}
        )
    )

    memory = seen(office.senior, first)
    assert memory["components"] == []
    (suggested,) = memory["suggested_components"]
    assert (suggested["subject"], suggested["value"]) == ("staging_database.port", "5433")
    assert second["conflicts"] == []
    assert seen(office.senior, first)["lifecycle"] == "live"


def test_who_states_components_is_suggested_none(office):
    stated = [{"subject": "db.port", "value": "5433"}]
    memory = seen(office.senior, kept(office.senior, SAID, project="apollo", components=stated))

    assert [one["subject"] for one in memory["components"]] == ["db.port"]
    assert memory["suggested_components"] == []


@pytest.mark.rule("DE-04")
def test_an_accepted_suggestion_is_stated_and_clashes_at_once(office):
    told = [{"subject": "staging_database.port", "value": "6000"}]
    older = kept(office.senior, "It moved to 6000.", project="apollo", components=told)
    newer = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, newer)["suggested_components"]

    answer = done(office.senior.post(f"/components/{suggested['id']}/accept"))

    assert [one["value"] for one in answer["memory"]["components"]] == ["5433"]
    assert answer["memory"]["suggested_components"] == []
    assert [one["winner"] for one in answer["conflicts"]] == [newer]
    assert seen(office.senior, older)["superseded_by"] == newer
    again = office.senior.post(f"/components/{suggested['id']}/accept")
    refused(again, 409, "conflict")


def test_a_dismissed_suggestion_is_gone(office):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]

    answer = done(office.senior.post(f"/components/{suggested['id']}/dismiss"))

    assert answer["memory"]["components"] == []
    assert answer["memory"]["suggested_components"] == []
    refused(office.senior.post(f"/components/{suggested['id']}/accept"), 409, "conflict")


@pytest.mark.rule("WR-06")
@pytest.mark.parametrize("by", ["senior", "colleague"])
@pytest.mark.parametrize("multi", [False, True])
def test_what_the_writer_states_stands_whoever_dismissed_it(office, by, multi):
    """Also beside others, and it clashes as anything that is stated."""
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]
    done(getattr(office, by).post(f"/components/{suggested['id']}/dismiss"))
    stated = [
        {"subject": suggested["subject"], "value": "5433", "multi": multi},
        {"subject": "staging.user", "value": "app"},
    ]

    again = done(
        office.senior.post(
            "/memories", {"content": SAID, "project": "apollo", "components": stated}
        )
    )

    assert (again["absorbed"], again["memory_id"]) == (True, memory)
    told = {(one["subject"], one["value"]) for one in again["memory"]["components"]}
    assert told >= {(suggested["subject"], "5433"), ("staging.user", "app")}
    assert again["memory"]["suggested_components"] == []
    reported(office.colleague, suggested["subject"])
    assert trust(office.senior, memory) == "dirty"


@pytest.mark.rule("WR-06")
def test_a_repeat_that_states_nothing_leaves_what_was_dismissed(office):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]
    done(office.senior.post(f"/components/{suggested['id']}/dismiss"))
    again = done(office.senior.post("/memories", {"content": SAID, "project": "apollo"}))
    assert (again["memory"]["components"], again["memory"]["suggested_components"]) == ([], [])


def test_only_who_may_replace_the_memory_takes_up_what_was_suggested(office):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]
    path = f"/components/{suggested['id']}/accept"

    refused(office.contractor.post(path), 403, "forbidden")
    refused(office.outsider.post(path), 404, "not_found")
    assert seen(office.senior, memory)["components"] == []
    done(office.colleague.post(path))


@pytest.mark.rule("SB-01", "SB-03")
@pytest.mark.parametrize(
    ("order", "state"),
    [
        (("accept", "change"), "dirty"),
        (("change", "accept"), "dirty"),
        (("change", "verify", "accept"), "verified"),
        (("change", "accept", "verify"), "verified"),
    ],
)
def test_what_changed_before_it_was_accepted_counts_as_well(office, order, state):
    memory = kept(office.senior, SAID, project="apollo")
    (suggested,) = seen(office.senior, memory)["suggested_components"]
    deeds = {
        "accept": lambda: done(office.senior.post(f"/components/{suggested['id']}/accept")),
        "change": lambda: reported(office.colleague, suggested["subject"]),
        "verify": lambda: verified(office.senior, memory),
    }
    reported(office.colleague, "elsewhere.port")

    told = [deeds[deed]() for deed in order]

    assert trust(office.senior, memory) == state
    if order[-1] == "accept":
        assert told[-1]["memory"]["trust_state"] == state


@pytest.mark.rule("SB-01", "SB-05")
def test_what_a_repeat_says_it_is_about_or_depends_on_is_marked_too(office):
    texts = {
        words: {"content": f"Releases are cut {words}.", "project": "apollo"}
        for words in ("at night", "by day", "on Fridays")
    }
    kept_ids = {words: kept(office.senior, **text) for words, text in texts.items()}
    reported(office.colleague, "deploy.branch")

    for words, more in {
        "at night": {"subjects": ["deploy.branch"]},
        "by day": {"depends_on": ["deploy.branch"]},
        "on Fridays": {"subjects": ["deploy"], "depends_on": ["deploy.provider"]},
    }.items():
        assert done(office.senior.post("/memories", texts[words] | more))["absorbed"]

    states = {words: trust(office.senior, one) for words, one in kept_ids.items()}
    assert states == {"at night": "dirty", "by day": "dirty", "on Fridays": "verified"}
