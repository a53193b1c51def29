"""Companies of watchlists as people write them, and what a change did."""

import pytest

from company_registry.watchlist_models import WatchlistChange
from portal.domain.watched import companies_in, effect


@pytest.mark.parametrize(
    "text, companies",
    [
        ("dk:12345674, NO 310345679;DK12345682", ["dk:12345674", "NO 310345679", "DK12345682"]),
        ("NO 310 345 679\n12345674 310345679", ["NO 310 345 679", "12345674", "310345679"]),
        (
            "CVR-nr. 12345674, Org.nr. 310 345 679 MVA",
            ["CVR-nr. 12345674", "Org.nr. 310 345 679 MVA"],
        ),
        ("12 34 56 74 12 34 56 82 x", ["12 34 56 74", "12 34 56 82", "x"]),
        ("dk:12345674 dk:12345674", ["dk:12345674"]),
        ("se:12345674 rubbish 1", ["se:12345674", "rubbish", "1"]),
        (" ,;\n", []),
    ],
)
def test_companies_are_read_as_they_are_pasted(text: str, companies: list[str]) -> None:
    assert companies_in(text) == companies


@pytest.mark.parametrize(
    "change, said",
    [
        ({"added": 1200, "present": 3, "removed": 0}, "1,200 added, 3 there already."),
        ({"added": 0, "present": 0, "removed": 0}, "Nothing changed."),
        (
            {"added": 0, "present": 0, "removed": 1, "unknown": [f"no:{n}" for n in range(7)]},
            "1 removed. In no register, and not added: no:0, no:1, no:2, no:3, no:4 and 2 more.",
        ),
        (
            {
                "added": 1,
                "present": 0,
                "removed": 0,
                "invalid": [{"parameter": "add[0]", "value": "se:1", "message": "not covered"}],
            },
            "1 added. Not read: se:1 (not covered).",
        ),
    ],
)
def test_a_change_is_described_in_words(change: dict[str, object], said: str) -> None:
    assert effect(WatchlistChange.model_validate({"size": 1, **change})) == said
