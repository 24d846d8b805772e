from tenants.jobs import claim, run_job
import hygiene.jobs


def work():
    n = 0
    while (job := claim()) is not None:
        run_job(job)
        n += 1
    return n


def comp(s, v):
    return [{"subject": s, "value": v}]


def test_clash(office):
    a = office.senior.post(
        "/memories",
        {
            "content": "Deploys go out from main.",
            "project": "apollo",
            "components": comp("deployment.branch", "main"),
        },
    ).json()
    b = office.contractor.post(
        "/memories",
        {
            "content": "Deploys go out from release.",
            "project": "apollo",
            "components": comp("deployment.branch", "release"),
        },
    )
    assert b.status_code == 201, b.content
    print({k: b.json()[k] for k in ("conflict_candidates", "conflicts", "judging", "superseded")})
    assert b.json()["memory"]["lifecycle"] == "superseded"
    c = office.colleague.post(
        "/memories",
        {
            "content": "Deploys go out from trunk now.",
            "project": "apollo",
            "components": comp("deployment.branch", "trunk"),
        },
    ).json()
    print({k: c[k] for k in ("conflict_candidates", "conflicts", "judging", "superseded")})
    assert c["superseded"] == [a["memory_id"]]
    r = office.senior.get("/auto-resolved")
    assert r.status_code == 200, r.content
    print(r.json()["count"])
    g = office.senior.post(
        "/memories", {"content": "The staging port is 5432.", "project": "apollo", "kind": "gotcha"}
    ).json()
    h = office.senior.post(
        "/memories", {"content": "The staging port is 5433.", "project": "apollo"}
    ).json()
    print(h["judging"], h["conflict_candidates"])
    assert h["judging"] == "queued"
    print(work())
    l = office.senior.get("/conflicts")
    print(
        l.json()["count"],
        [
            (x["kind"], x["verdict"]["reasoning"], x["recommended_winner"])
            for x in l.json()["results"]
        ],
    )
    rr = office.senior.post("/recall", {"query": "staging port", "project": "apollo"}).json()[
        "results"
    ]
    for x in rr:
        print(x["content"], x["temporal_status"], x["disputed"], x["safe_rendering"])


def test_wait(office):
    office.senior.post("/memories", {"content": "The pool of staging has 5 connections.", "project": "apollo"})
    b = office.colleague.post("/memories", {"content": "The pool of staging has 9 connections.", "project": "apollo", "wait": 5})
    assert b.status_code == 201, b.content
    print(b.json()["judging"], b.json()["conflicts"], b.json()["memory"]["disputed"])
    assert b.json()["judging"] == "done"
    assert b.json()["memory"]["disputed"] is True
