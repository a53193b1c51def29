"""The queries: a random sample of the register's names and addresses, with typos."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from bench.disturbing import Chance, one_typo, two_typos

SEED = 1


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries by kind. Lists with typos have the order of `names` or `addresses`."""

    names: Sequence[str]
    names_one_typo: Sequence[str]
    names_two_typos: Sequence[str]
    names_first_word: Sequence[str]
    names_first_two_words: Sequence[str]
    addresses: Sequence[str]
    addresses_one_typo: Sequence[str]
    addresses_two_typos: Sequence[str]

    def kinds(self) -> Mapping[str, Sequence[str]]:
        return asdict(self)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text()))


def drawn(documents: Iterable[Mapping[str, Any]], count: int, seed: int = SEED) -> Questions:
    """Queries from `count` random Norwegian documents (reservoir sampling)."""
    chance = Chance(seed)
    kept: list[Mapping[str, Any]] = []
    for seen, document in enumerate(documents):
        if len(kept) < count:
            kept.append(document)
        elif (replaced := chance.randrange(seen + 1)) < count:
            kept[replaced] = document
    chance.shuffle(kept)
    names = [document["navn"] for document in kept]
    addresses = [line for document in kept if (line := _address(document))]
    return Questions(
        names,
        [one_typo(name, chance) for name in names],
        [two_typos(name, chance) for name in names],
        _begun(names, 1),
        _begun(names, 2),
        addresses,
        [_in_street(one_typo, line, chance) for line in addresses],
        [_in_street(two_typos, line, chance) for line in addresses],
    )


def _begun(names: Iterable[str], words: int) -> list[str]:
    """The first words of each name that has more."""
    parts = (name.split() for name in names)
    return [" ".join(each[:words]) for each in parts if len(each) > words]


def _address(document: Mapping[str, Any]) -> str | None:
    """The business address on one line, if it has a street."""
    place = document.get("forretningsadresse") or {}
    street = ", ".join(place.get("adresse") or [])
    town = " ".join(part for part in (place.get("postnummer"), place.get("poststed")) if part)
    return f"{street}, {town}" if street and town else None


def _in_street(disturb: Any, line: str, chance: random.Random) -> str:
    """Puts typos before the first digit only: another number is another address."""
    end = next((place for place, letter in enumerate(line) if letter.isdigit()), len(line))
    street = line[:end].rstrip()
    return disturb(street, chance) + line[len(street) :] if len(street) > 1 else line
