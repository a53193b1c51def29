"""Names of limited persons are recognised by their hashes."""

import pytest

from common.domain.limited import hash_of_name, is_named, mentions

COMPANY, OTHER = "dk:12345674", "no:987654321"
ANNA = hash_of_name(COMPANY, "Anna Prøve Testesen")


@pytest.mark.parametrize(
    "name", ["ANNA PRØVE TESTESEN", "Testesen, Anna Prøve", " anna  prøve-testesen", ANNA]
)
def test_a_name_is_the_same_in_another_form(name: str) -> None:
    assert hash_of_name(COMPANY, name) == ANNA


def test_a_namesake_in_another_company_is_another_person() -> None:
    assert hash_of_name(OTHER, "Anna Prøve Testesen") != ANNA
    assert not is_named(OTHER, "Anna Prøve Testesen", [ANNA])


@pytest.mark.parametrize("name", ["Anna Testesen", "Anna Prøve Testesen Holding", ""])
def test_a_whole_name_is_compared(name: str) -> None:
    assert is_named(COMPANY, "Anna Prøve Testesen", [ANNA])
    assert not is_named(COMPANY, name, [ANNA])


def test_a_name_is_found_within_a_text() -> None:
    event = {"changes": [{"field": "roles", "old": [{"name": "Testesen Anna Prøve"}], "new": None}]}

    assert mentions(COMPANY, event, [ANNA])
    assert mentions(COMPANY, "Tegnes af Anna Prøve Testesen alene.", [ANNA])
    assert not mentions(COMPANY, {"old": "Anna Prøve", "new": [1, None, "Testesen"]}, [ANNA])
    assert not mentions(COMPANY, event, [])


@pytest.mark.parametrize("name", ["", "–", "sha256:12", "a b c d e f g h i"])
def test_what_is_no_name_and_no_hash_is_refused(name: str) -> None:
    if name == "sha256:12":
        # Two words like any others: no name, but no danger either.
        assert hash_of_name(COMPANY, name) != name
        return
    with pytest.raises(ValueError, match="1 to 8 words"):
        hash_of_name(COMPANY, name)
