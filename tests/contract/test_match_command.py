"""`company-registry match` over real HTTP: columns, results, exit status, and going on."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.answers import a_problem
from tests.contract.test_client_command import Shell, shell

__all__ = ["shell"]

KEY = "id.secret"
MATCH = "/api/match"


def a_candidate(vat: str, score: float, **evidence: float) -> dict[str, Any]:
    named = {"country": "dk", "vat": vat, "name": f"Nr {vat}", "city": "Odense C"}
    return {**named, "status": "active", "score": score, "evidence": evidence}


def a_result(decision: str, *candidates: dict[str, Any]) -> dict[str, Any]:
    return {"id": "x", "decision": decision, "candidates": list(candidates)}


MATCHED = a_result("match", a_candidate("10000001", 0.998, name=97.1, postal_code=100))
FOR_REVIEW = a_result("review", a_candidate("10000002", 0.5), a_candidate("10000003", 0.4))
NONE = a_result("none", a_candidate("10000004", 0.01)) | {"reason": "not_found"}
ENDED = a_result("match", a_candidate("10000005", 0.9) | {"status": "bankrupt"})
ABROAD = a_result("none") | {"reason": "country_not_covered", "unread": [], "assumed": {}}
ASSUMED = a_result("review", a_candidate("05501431", 0.99)) | {
    "reason": None,
    "unread": ["phone"],
    "assumed": {"number": "05501431"},
}


def rows_of(file: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened, delimiter=delimiter))


async def test_each_row_has_its_decision_and_company(shell: Shell) -> None:
    rows = [
        "Kundenr;Firma;Postnr.;Poststed;Tlf",
        "7;Nordlys;5000;Odense;=1+1",
        "8;Fjord;;;",
        "9;;;;",
    ]
    text = "".join(f"{row}\r\n" for row in rows)
    (shell.home / "kunder.csv").write_bytes(text.encode("cp1252"))
    shell.answers[MATCH] = [{"results": [MATCHED, FOR_REVIEW]}]

    done = await shell.run("match", "kunder.csv", "-o", "ud.csv", "--country", "dk")

    assert done.exit_code == 1
    assert "1 match, 1 review, 1 none (1 empty), 0 error" in done.stderr
    assert "name: Firma, postal_code: Postnr., city: Poststed, phone: Tlf" in done.stderr
    assert shell.bodies[0]["records"][0] == {
        "id": "1",
        "country": "dk",
        "name": "Nordlys",
        "postal_code": "5000",
        "city": "Odense",
        "phone": "=1+1",
    }
    first, second, third = rows_of(shell.home / "ud.csv", ";")
    assert (first["Kundenr"], first["decision"], first["company_vat"]) == ("7", "match", "10000001")
    assert (first["score"], first["evidence"]) == ("0.998", "name=97.1 postal_code=100")
    assert first["Tlf"] == "'=1+1"
    assert second["alternatives"] == "10000003 Nr 10000003 (0.4)"
    assert (third["decision"], third["company_vat"]) == ("none", "")
    assert sorted(path.name for path in shell.home.glob("ud*")) == ["ud.csv"]


async def test_the_form_and_the_address_of_the_company_are_columns(shell: Shell) -> None:
    [candidate] = MATCHED["candidates"]
    form = {"code": "80", "description": "Anpartsselskab", "short": "ApS"}
    placed = {**candidate, "form": form, "address": "Prøvevej 1, 5000 Odense"}
    (shell.home / "k.csv").write_text("id,navn\n1,Nordlys\n2,Fjord\n")
    shell.answers[MATCH] = [{"results": [{**MATCHED, "candidates": [placed]}, NONE]}]

    await shell.run("match", "k.csv", "-o", "ud.csv")

    rows = [(row["company_form"], row["company_address"]) for row in rows_of(shell.home / "ud.csv")]
    assert rows == [("ApS", "Prøvevej 1, 5000 Odense"), ("", "")]


async def test_a_row_says_why_it_has_no_company_and_the_summary_counts_the_reasons(
    shell: Shell,
) -> None:
    rows = ["id;navn;land;cvr", "1;A;;", "2;B;Sverige;", "3;C;;5501431.0", "4;;;", "5;D;;", "6;E;;"]
    (shell.home / "k.csv").write_text("".join(f"{row}\n" for row in rows))
    shell.answers[MATCH] = [{"results": [MATCHED, ABROAD, ASSUMED, ENDED, NONE]}]

    done = await shell.run("match", "k.csv", "-o", "ud.csv", "--country", "dk")

    sent = [(each["country"], each.get("number")) for each in shell.bodies[0]["records"]]
    assert sent[1:3] == [("Sverige", None), ("dk", "5501431.0")]
    said = "2 match (1 bankrupt), 1 review, 3 none (1 of another country, 1 empty, 1 not found), 0"
    assert said in " ".join(done.stderr.split())
    written = rows_of(shell.home / "ud.csv", ";")
    assert [row["reason"] for row in written] == [
        "", "country_not_covered", "", "empty", "", "not_found",
    ]  # fmt: skip
    assert (written[2]["unread"], written[2]["assumed"]) == ("phone", "number=05501431")


async def test_the_companies_of_a_number_and_of_a_name_have_a_column(
    shell: Shell,
) -> None:
    (shell.home / "k.csv").write_text("navn;cvr\nFjord;10000003\n")
    by_number, by_name = FOR_REVIEW["candidates"]
    two = {"number": by_number, "name": by_name}
    shell.answers[MATCH] = [{"results": [{**FOR_REVIEW, "conflict": two}]}]

    done = await shell.run("match", "k.csv", "-o", "ud.csv")

    [row] = rows_of(shell.home / "ud.csv", ";")
    assert row["conflict"] == (
        "The number is that of Nr 10000002 (DK 10000002), the name that of Nr 10000003 "
        "(DK 10000003)."
    )
    assert done.exit_code == 1


async def test_rows_that_matched_one_company_name_one_another(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("navn\nNordlys\nFjord\nNordlys ApS\n")
    shell.answers[MATCH] = [{"results": [MATCHED, FOR_REVIEW, MATCHED]}] * 2

    await shell.run("match", "k.csv", "-o", "ud.csv")
    await shell.run("match", "k.csv", "-o", "ud.jsonl", "--json")

    rows = rows_of(shell.home / "ud.csv", ";")
    documents = [json.loads(line) for line in (shell.home / "ud.jsonl").read_text().splitlines()]
    assert [row["same_company_rows"] for row in rows] == ["4", "", "2"]
    assert [each.get("same_company_rows") for each in documents] == [[4], None, [2]]


async def test_a_row_whose_cells_are_shifted_is_not_sent(shell: Shell) -> None:
    rows = ["Navn;CVR;Adresse", "Hansen; Sønner;12345674;Vej 1", "Nordlys;12345674;Vej 1"]
    (shell.home / "k.csv").write_text("\n".join(rows))
    shell.answers[MATCH] = [{"results": [MATCHED]}]

    done = await shell.run("match", "k.csv", "-o", "ud.csv")

    assert [each["name"] for each in shell.bodies[0]["records"]] == ["Nordlys"]
    assert "1 match, 0 review, 0 none, 1 error (1 invalid parameter)" in done.stderr
    shifted, matched = rows_of(shell.home / "ud.csv", ";")
    assert (shifted["error"], shifted["error_detail"]) == (
        "invalid_parameter",
        "the row has more cells than the header",
    )
    assert (shifted["decision"], matched["decision"], done.exit_code) == ("error", "match", 1)


#: A fault that the client does not repeat by itself.
FAULT = {"id": "x", "problem": a_problem("internal_error", 500, "it failed")}


async def test_rows_that_a_fault_left_are_not_searched_and_the_next_run_searches_them(
    shell: Shell,
) -> None:
    (shell.home / "k.csv").write_text("id;navn\n1;A\n2;B\n3;C\n")
    shell.answers[MATCH] = [
        {"results": [FAULT, MATCHED, FAULT]},
        {"results": [NONE, FAULT]},
        {"results": [MATCHED]},
    ]
    command = ("match", "k.csv", "-o", "ud.csv")

    done = await shell.run(*command)
    first = rows_of(shell.home / "ud.csv", ";")
    again = await shell.run(*command)
    last = await shell.run(*command)

    assert done.exit_code == again.exit_code == 5
    said = "1 match, 0 review, 0 none, 0 error, 2 not searched (2 after an error of the service)"
    assert said in " ".join(done.stderr.split())
    assert "Run the same command again" in done.stderr
    assert [row["decision"] for row in first] == ["not_searched", "match", "not_searched"]
    assert (first[0]["error"], first[0]["company_vat"]) == ("internal_error", "")
    assert "Going on after 1 of 3 rows." in again.stderr
    names = [[each["name"] for each in body["records"]] for body in shell.bodies]
    assert names == [["A", "B", "C"], ["A", "C"], ["C"]]
    assert (last.exit_code, sorted(path.name for path in shell.home.glob("ud*"))) == (0, ["ud.csv"])
    decisions = [row["decision"] for row in rows_of(shell.home / "ud.csv", ";")]
    assert decisions == ["none", "match", "match"]


async def test_the_json_of_a_row_that_was_not_searched_says_so(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("id;navn\n1;A\n")
    shell.answers[MATCH] = [{"results": [FAULT]}]

    done = await shell.run("--json", "match", "k.csv")

    [row] = map(json.loads, done.stdout.splitlines())
    assert (row["decision"], row["problem"]["code"]) == ("not_searched", "internal_error")


async def test_without_rows_for_review_the_exit_status_is_0(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("id,name\n1,Nordlys\n2,Ingen\n")
    shell.answers[MATCH] = [{"results": [MATCHED, NONE]}]

    done = await shell.run("match", "k.csv")

    assert done.exit_code == 0
    assert done.stdout.splitlines()[2].startswith("2,Ingen,none,,,")


async def test_a_run_goes_on_where_another_was_stopped(shell: Shell) -> None:
    names = [f"{number},Nr {number}" for number in range(120)]
    (shell.home / "k.csv").write_text("\n".join(["id,name", *names]))
    shell.answers[MATCH] = [{"results": [MATCHED] * 100}, a_problem("forbidden", 403)]

    stopped = await shell.run("match", "k.csv", "-o", "ud.csv")
    with (shell.home / "ud.csv.journal").open("ab") as journal:
        journal.write(b'{"decision": "ma')  # a kill cuts a line off
    shell.answers[MATCH] = [{"results": [NONE] * 20}]
    done = await shell.run("match", "k.csv", "-o", "ud.csv")

    assert (stopped.exit_code, done.exit_code) == (4, 0)
    assert "Stopped after 100 of 120 rows." in stopped.stderr
    assert "Going on after 100 of 120 rows." in done.stderr
    assert [len(body["records"]) for body in shell.bodies] == [100, 20, 20]
    decisions = [row["decision"] for row in rows_of(shell.home / "ud.csv")]
    assert decisions == ["match"] * 100 + ["none"] * 20
    assert not (shell.home / "ud.csv.journal").exists()


async def test_a_run_of_other_rows_begins_anew(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("id,name\n1,Nordlys\n")
    (shell.home / "ud.csv.journal").write_text('{"asked": "another"}\n{"decision": "match"}\n')
    shell.answers[MATCH] = [{"results": [NONE]}]

    done = await shell.run("match", "k.csv", "-o", "ud.csv")

    assert "Going on" not in done.stderr
    assert [row["decision"] for row in rows_of(shell.home / "ud.csv")] == ["none"]


@pytest.mark.parametrize("place", [0, 1], ids=["before", "after"])
async def test_json_and_a_key_stand_before_and_after_the_commands_name(
    shell: Shell, place: int
) -> None:
    (shell.home / "k.csv").write_text("name\nNordlys\nFejl\n")
    refused = {"id": "2", "problem": a_problem("invalid_parameter")}
    shell.answers[MATCH] = [{"results": [MATCHED, refused]}]
    arguments = [["match", "k.csv"]]
    arguments[place:place] = [["--key", KEY, "--json"]]

    done = await shell.run(*(word for part in arguments for word in part))

    first, second = map(json.loads, done.stdout.splitlines())
    assert first["candidates"] == MATCHED["candidates"]
    assert (first["input"], first["decision"]) == ({"name": "Nordlys"}, "match")
    assert second["problem"]["code"] == "invalid_parameter"
    assert shell.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert done.exit_code == 1


async def test_a_long_run_says_beforehand_how_long_the_rate_makes_it_take(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("name\n" + "Nordlys\n" * 300)
    shell.answers[MATCH] = [{"results": [NONE] * 100} for _ in range(3)]
    shell.headers = {"RateLimit-Policy": '"key";q=100;w=60', "RateLimit": '"key";r=0;t=0'}

    done = await shell.run("match", "k.csv")

    assert "About 60 s at the key's rate (100 rows a minute)." in done.stderr.splitlines()


async def test_a_column_may_be_named(shell: Shell) -> None:
    (shell.home / "k.csv").write_text("Kunde,navn\nNordlys,Anna\n")
    shell.answers[MATCH] = [{"results": [MATCHED]}]

    await shell.run("match", "k.csv", "--column", "name=Kunde")

    assert shell.bodies[0]["records"] == [{"id": "1", "name": "Nordlys"}]


@pytest.mark.parametrize(
    "arguments, text, message",
    [
        (("k.csv",), "saldo\n1\n", "must have a column of name, number"),
        (("k.csv", "--column", "navn=x"), "name\n", "--column must be FIELD=HEADER"),
        (("k.csv", "--country", "se"), "name\n", "--country must be dk or no"),
        (("k.csv", "-o", "k.csv"), "name\nx\n", "--out must be another file"),
        (("k.csv", "-o", "gone/x.csv"), "name\nx\n", "gone/x.csv: No such file"),
    ],
)
async def test_wrong_usage_is_reported_before_any_request(
    shell: Shell, arguments: tuple[str, ...], text: str, message: str
) -> None:
    (shell.home / "k.csv").write_text(text)

    done = await shell.run("match", *arguments)

    assert done.exit_code == 2
    assert message in done.stderr
    assert shell.requests == []
