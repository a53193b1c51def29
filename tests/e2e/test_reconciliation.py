"""The public Python client `reconciler` reconciles a table with the whole system."""

from typing import Any

import aiohttp
import pytest

from tests.builders.reconciliation import conforms
from tests.e2e.conftest import Running

pytestmark = [
    pytest.mark.e2e,
    # `reconciler` 0.2.2 is older than pandas 3.
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),
]

#: The names of customers, with typing errors and old towns, and the companies that they are.
CUSTOMERS = [
    ("Prøvefabriken", "1112", "12345674"),
    ("PROEVEFABRIKKEN HOLDING", "1112", "12345682"),
    ("Aero Prøvefærge", "5700", "12345712"),
    ("Øresund Prøvebrygeri A/S", "3000", "12345720"),
    ("12345704", "5000", "12345704"),
    ("Qzxwvq Jkhgfq Aps", "9999", None),
]


def test_a_table_is_reconciled_and_unknown_customers_match_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only here: their import takes seconds in each process of a run.
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]  # (no stubs)
    from reconciler import reconcile  # type: ignore[import-untyped]  # (no stubs)

    # `reconciler` 0.2.2 marks a row without candidates with a name that NumPy 2 has dropped.
    monkeypatch.setattr(np, "NaN", np.nan, raising=False)
    table = pd.DataFrame(CUSTOMERS, columns=["customer", "postal", "vat"])

    found = reconcile(
        table["customer"],
        type_id="company",
        property_mapping={"postal_code": table["postal"]},
        reconciliation_endpoint=f"{running.system.base_url}/reconcile/dk?api_key={running.key}",
    )

    rows = {row["input_value"]: row for row in found.to_dict("records")}
    assert rows.keys() == {name for name, _, _ in CUSTOMERS}
    known = {name: vat for name, _, vat in CUSTOMERS if vat is not None}
    assert {name: rows[name]["id"] for name in known} == known
    matched = {name for name, row in rows.items() if row["match"] is True}
    # Two that share an address and most of their names are left to a person.
    assert {"PROEVEFABRIKKEN HOLDING", "Aero Prøvefærge", "12345704"} <= matched <= known.keys()


async def test_what_openrefine_requests_is_answered_with_the_links_of_the_manifest(
    running: Running,
) -> None:
    endpoint = f"{running.system.base_url}/reconcile/no?api_key={running.key}"
    async with aiohttp.ClientSession() as client:

        async def read(url: str, schema: str, **form: str) -> Any:
            send = client.post(url, data=form) if form else client.get(url)
            async with send as answer:
                assert answer.status == 200, await answer.text()
                body = await answer.json()
            conforms(body, schema)
            return body

        manifest = await read(endpoint, "manifest")
        entity = manifest["suggest"]["entity"]
        proposing = manifest["extend"]["propose_properties"]

        suggested = await read(
            f"{entity['service_url']}{entity['service_path']}&prefix=pr%C3%B8vefab",
            "suggest-entities-response",
        )
        proposed = await read(
            f"{proposing['service_url']}{proposing['service_path']}?type=company&limit=50",
            "data-extension-property-proposal",
        )
        properties = ",".join(f'{{"id": "{one["id"]}"}}' for one in proposed["properties"])
        data = await read(
            endpoint,
            "data-extension-response",
            extend=f'{{"ids": ["310345679"], "properties": [{properties}]}}',
        )
        preview = str(manifest["preview"]["url"]).replace("{{id}}", "310345679")
        async with client.get(preview) as page:
            text = await page.text()

    assert "310345679" in {one["id"] for one in suggested["result"]}
    rows = data["rows"]
    assert rows["310345679"]["name"] == [{"str": "PRØVEFABRIKKEN NORGE AS"}]
    assert "PRØVEFABRIKKEN NORGE AS" in text
