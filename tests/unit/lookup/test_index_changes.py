"""Changes of the index: visibility, restarts and rebuilds."""

import fcntl
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date
from hashlib import sha256
from pathlib import Path
from threading import Event, Timer

import pytest

from common.contracts.company import Country, Status
from lookup.search.find.columns import Segment, joined, save
from lookup.search.index import SearchIndex, Size
from lookup.search.index.documents import documents_of
from lookup.search.index.schema import FORMAT
from lookup.search.indexed_company import AddressType, IndexedAddress, IndexedCompany
from tests.builders.indexed import (
    an_indexed_address,
    an_indexed_company,
    filled,
    rebuild,
    search_address,
    search_name,
)

NORDLYS = an_indexed_company(
    "Nordlys ApS",
    number=10_000_001,
    trade_names=("Lyset",),
    former_names=("NORDLYS", "Lyset A/S"),
    addresses=(an_indexed_address("Storgade 5, 5000 Odense C"),),
)
#: Something of all that folding, streets, dwellings and ranks are about.
EVERYTHING = an_indexed_company(
    "A/S Blåbærgrød & Søn, Ærø ApS",
    number=10_000_003,
    employees=17,
    founded=date(1999, 11, 15),
    status=Status.BANKRUPT,
    trade_names=("Müller's Café I/S", "Moe Byg GmbH", "Aes Invest AS", "A/S H. Prøve"),
    former_names=("ApS KBIL 17 NR. 0000", "K.S. Prøve Interessentskabet"),
    addresses=(
        an_indexed_address("c/o Nordlys, Gl. Kongevej 2B, 2. sal tv, 1610 Kbh. V"),
        an_indexed_address("Skt. Annæ Plads 3-7, st. mf, Christianshavn, 1250 København K"),
        an_indexed_address("Storgt 142/148, H0201, 0155 Oslo", kind=AddressType.POSTAL),
        an_indexed_address("P.b. 12 Sentrum, 4001 Stavanger"),
        an_indexed_address("Haakon VII's gt 4, Postboks 39, 3700 Rønne"),
        IndexedAddress(AddressType.BUSINESS, "Stormyrgatan 15", None, None, "Orsa", None, "SE"),
        IndexedAddress(AddressType.BUSINESS, "Prøvep Aqqutaa 12", None, "3900", "Nuuk", None, "GL"),
    ),
    contacts=("anna@gmail.com", "blaabaer.example"),
)
AURORA = an_indexed_company("Aurora ApS", number=10_000_002)


def opened(folder: Path) -> closing[SearchIndex]:
    return closing(SearchIndex.open(folder, Country.DK))


def finds(index: SearchIndex) -> set[str]:
    """Which of the companies are found by their names."""
    names = {"Nordlys", "Lyset", "Sydlys", "Aurora"}
    return {name for name in names if search_name(index, name)}


def test_what_is_applied_is_seen_from_the_commit_on(index: SearchIndex) -> None:
    index.apply([NORDLYS])
    before = finds(index)
    index.commit(b"1")

    assert (before, finds(index)) == (set(), {"Nordlys", "Lyset"})


def test_a_company_is_replaced_whole(index: SearchIndex) -> None:
    filled(index, NORDLYS)

    filled(index, an_indexed_company("Sydlys ApS", number=10_000_001))

    assert finds(index) == {"Sydlys"}
    assert search_address(index, "Storgade 5") is None
    assert index.size == Size(companies=1, names=1, addresses=0)


def test_a_removed_company_is_not_found(index: SearchIndex) -> None:
    filled(index, NORDLYS, AURORA)

    index.apply([], [NORDLYS.key])
    index.commit(b"2")

    assert finds(index) == {"Aurora"}
    assert index.size.companies == 1


def test_applying_changes_again_changes_nothing_and_removals_win(index: SearchIndex) -> None:
    for _ in range(3):
        index.apply([NORDLYS, AURORA], [])
        index.apply([NORDLYS], [AURORA.key, NORDLYS.key])
    index.commit(b"1")

    assert finds(index) == {"Nordlys", "Lyset"}
    assert index.size == Size(companies=1, names=2, addresses=1)


def test_a_name_and_an_address_that_weigh_the_same_are_one_document() -> None:
    documents = documents_of(NORDLYS, Country.DK)

    kinds = [document["kind"] for document in documents]
    assert kinds == [["name", "form aps", "address", "company"], ["name"]]


def test_a_reopened_index_answers_and_goes_on_from_its_last_save_point(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        new = index.save_point
        index.commit(b"\x00\xff1")
        index.apply([NORDLYS])
        index.commit(b"\x00\xff2")
        index.apply([AURORA])
        committed = index.save_point

    with opened(tmp_path) as index:
        assert new is None
        assert index.save_point == committed == b"\x00\xff2"
        assert finds(index) == {"Nordlys", "Lyset"}


def test_each_country_has_an_index_of_its_own(tmp_path: Path) -> None:
    norwegian = an_indexed_company("Nordlys AS", number=810_000_002, country=Country.NO)
    with opened(tmp_path) as danish, closing(SearchIndex.open(tmp_path, Country.NO)) as index:
        danish.commit(b"1")
        filled(index, norwegian)

        assert (finds(danish), finds(index)) == (set(), {"Nordlys"})


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(BlockingIOError):
        SearchIndex.open(tmp_path, Country.DK)


def test_a_rebuilt_index_holds_what_it_was_built_from_and_takes_changes(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        filled(index, NORDLYS)
        rebuild(index, iter([AURORA]), b"2")

        assert (finds(index), index.save_point) == ({"Aurora"}, b"2")

    with opened(tmp_path) as index:
        reopened = finds(index)
        index.apply([NORDLYS], [AURORA.key])
        index.commit(b"3")

        assert (reopened, finds(index)) == ({"Aurora"}, {"Nordlys", "Lyset"})


def test_the_old_index_answers_while_the_new_one_is_built(index: SearchIndex) -> None:
    answers = []
    filled(index, NORDLYS)

    def companies() -> Iterator[IndexedCompany]:
        answers.append(finds(index))
        yield AURORA

    rebuild(index, companies(), b"2")

    assert answers == [{"Nordlys", "Lyset"}]


def test_a_build_that_fails_leaves_the_old_index(tmp_path: Path) -> None:
    def companies() -> Iterator[IndexedCompany]:
        yield AURORA
        raise ConnectionError("the register went away")

    with opened(tmp_path) as index:
        filled(index, NORDLYS)
        with pytest.raises(ConnectionError):
            rebuild(index, companies(), b"2")
        after_the_failure = finds(index)
        rebuild(index, [NORDLYS, AURORA], b"3")

        assert after_the_failure == {"Nordlys", "Lyset"}
        assert index.size.companies == 2

    assert len([folder for folder in (tmp_path / "dk").iterdir() if folder.is_dir()]) == 1


def test_what_an_interrupted_build_left_is_removed(tmp_path: Path) -> None:
    def folders() -> int:
        return len([each for each in (tmp_path / "dk").iterdir() if each.is_dir()])

    with opened(tmp_path) as index:
        filled(index, NORDLYS)
        index.new().discard()
        discarded = folders()
        index.new().close()  # killed before it was current
        left = folders()

    with opened(tmp_path) as index:
        assert (discarded, left, folders()) == (1, 2, 1)
        assert finds(index) == {"Nordlys", "Lyset"}


def test_an_index_of_another_format_has_to_be_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as index:
        filled(index, NORDLYS)

    monkeypatch.setattr("lookup.search.index.generation.FORMAT", FORMAT + 1)

    with opened(tmp_path) as index:
        assert (index.save_point, finds(index)) == (None, set())


def test_the_format_is_raised_whenever_something_else_is_written(tmp_path: Path) -> None:
    save(tmp_path / "find", joined([Segment.of([EVERYTHING.facts])]))
    [file] = (tmp_path / "find").glob("*.columns")
    columns = json.loads(file.read_bytes().partition(b"\n")[0])
    documents = documents_of(EVERYTHING, Country.DK)
    written = json.dumps([documents, columns], sort_keys=True)

    digest = sha256(written.encode()).hexdigest()[:16]

    # Another digest needs another FORMAT, or indexes of the old code would answer wrongly.
    assert (FORMAT, digest) == (18, "9ce5a10ae92d37cc")


@pytest.mark.parametrize("damage", ["meta.json", "*.store", "*.term"])
def test_a_damaged_index_has_to_be_built_anew(tmp_path: Path, damage: str) -> None:
    with opened(tmp_path) as index:
        rebuild(index, [NORDLYS], b"1")
    for file in (tmp_path / "dk").rglob(damage):
        file.write_bytes(b"")

    with opened(tmp_path) as index:
        assert index.save_point is None


def test_a_lock_that_a_starting_process_still_has_is_waited_for(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        rebuild(index, [NORDLYS], b"1")
    [lock] = (tmp_path / "dk").rglob(".tantivy-writer.lock")

    with lock.open() as inherited:
        fcntl.flock(inherited, fcntl.LOCK_EX)
        let_go = Timer(0.2, fcntl.flock, (inherited, fcntl.LOCK_UN))
        let_go.start()
        with opened(tmp_path) as index:
            assert index.save_point == b"1"
        let_go.join()


def test_searches_go_on_while_changes_are_committed(index: SearchIndex) -> None:
    done = Event()

    def search() -> int:
        found = 0
        while not done.is_set() or not found:
            found += search_name(index, "Nordlys") is not None
        return found

    with ThreadPoolExecutor(2) as pool:
        filled(index, NORDLYS)
        searches = [pool.submit(search) for _ in range(2)]
        for step in range(5):
            filled(index, NORDLYS, an_indexed_company(f"Nord {step}", number=10_000_100 + step))
        rebuild(index, [NORDLYS], b"rebuilt")
        done.set()

        assert all(search.result(timeout=30) for search in searches)
