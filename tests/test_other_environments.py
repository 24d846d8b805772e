"""What holds in one environment is not retired by what holds in another."""

import pytest

from memory.conflict.environments import environment_lost
from tests.judging import branch, certified, live, says, work
from tests.memories import remember
from tests.people import Office
from tests.test_judging import model, server

__all__ = ["certified", "model", "server"]


@pytest.mark.rule("PO-11")
@pytest.mark.parametrize(
    ("loser", "winner", "lost"),
    [
        ("In staging the port is 5432", "In production the port is 5433", "staging"),
        ("PROD listens on 5433", "dev listens on 5432", "PROD"),
        ("prod=5433", "staging=5432", "prod"),
        ("db-staging.internal", "db-prod.internal", "staging"),
        ("Der Port der Produktion ist 5433", "In der Testumgebung ist er 5432", "Produktion"),
        ("本番のポートは5433", "検証のポートは5432", "本番"),
        ("生产端口是5433", "测试端口是5432", "生产"),
        ("In production 5433", "In QA 5432", "production"),
    ],
)
def test_the_environment_would_be_lost(loser: str, winner: str, lost: str):
    assert environment_lost(loser, winner) == (lost,)


@pytest.mark.rule("PO-11")
@pytest.mark.parametrize(
    ("loser", "winner"),
    [
        ("In staging the port is 5432", "In staging the port is 5433"),
        ("In staging the port is 5432", "The port is 5433"),
        ("The port is 5432", "In production the port is 5433"),
        ("In staging 5432", "In staging and production 5433"),
        ("In prod 5432", "In production 5433"),
        ("A prodigy reads the attestation", "The product is in development"),
    ],
)
def test_nothing_is_lost_by_an_environment(loser: str, winner: str):
    assert environment_lost(loser, winner) == ()


@pytest.mark.rule("PO-11")
def test_an_environment_that_is_the_value_may_change():
    said = "The nightly job deploys to staging", "The nightly job deploys to production"
    assert environment_lost(*said, changed=["Staging"]) == ()
    assert environment_lost(*said, changed=["other"]) == ("staging",)


@pytest.mark.rule("DE-04", "PO-11")
def test_two_environments_declared_as_one_subject_are_disputed(office: Office):
    ids = [
        branch(office.senior, value, content=content)["memory_id"]
        for value, content in (
            ("main", "In staging the branch main is deployed."),
            ("release", "In production the branch release is deployed."),
        )
    ]
    (dispute,) = office.senior.get("/conflicts").json()["results"]
    assert dispute["missing_specifics"] == ["staging"]
    assert sorted(live(office.senior, ids)) == sorted(ids)


@pytest.mark.rule("DE-04", "PO-09")
def test_of_one_environment_the_newer_value_wins(office: Office):
    old = branch(office.senior, "main", content="In staging the branch main is deployed.")
    new = branch(office.senior, "release", content="In staging the branch release is deployed.")
    assert new["superseded"] == [old["memory_id"]]


@pytest.mark.rule("PO-11", "JU-02")
@pytest.mark.parametrize("relation", ["b_supersedes_a", "contradiction"])
def test_no_judge_retires_what_holds_in_another_environment(
    office: Office, certified, relation: str
):
    says(certified, relation)
    old = remember(
        office.senior, "The queue on staging keeps its messages on disk", project="apollo"
    )["memory_id"]
    remember(office.senior, "The queue on production keeps its messages on disk", project="apollo")
    work(office)
    assert live(office.senior, [old]) == [old]
    (dispute,) = office.senior.get("/conflicts").json()["results"]
    assert dispute["missing_specifics"] == ["staging"]
