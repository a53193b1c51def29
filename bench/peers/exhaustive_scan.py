"""Compares a name with every one of a file, in an environment with numpy and rapidfuzz.

Reads questions as lines of JSON and answers each with a line. `plain` is the peer: the best of all
names by rapidfuzz alone, as one would write it. `near` gives the lines of all names whose score
can possibly reach a limit, by a bound that misses none: whoever asks scores these exactly.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

#: The columns of the file: kind of name, order, company, key, spelled.
KIND, KEY = 0, 3
#: As in `lookup.domain.matching`, which a test holds this file to.
KIND_WEIGHTS = (1.0, 0.98, 0.95)
MISSING = (60.0, 40.0)
EXTRA = (25.0, 75.0)
#: Scores are compared as rounded to one decimal.
ROUNDING = 0.05
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Names:
    def __init__(self, path: Path) -> None:
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        self.keys = [row[KEY] for row in rows]
        self.weights = np.array([KIND_WEIGHTS[int(row[KIND])] for row in rows], dtype=np.float32)
        self.lengths = np.array([len(key) for key in self.keys], dtype=np.int16)
        self.counts = self._counted()

    def _counted(self) -> "dict[str, np.ndarray]":
        """How often each letter is in each key; all that are no letters or digits count as one."""
        # With a mark behind each key, so that none is empty.
        text = np.frombuffer(
            "\n".join(self.keys).encode("ascii", "replace") + b"\n", dtype=np.uint8
        )
        ends = np.flatnonzero(text == ord("\n"))
        starts = np.concatenate(([0], ends[:-1] + 1))
        found = {
            letter: np.add.reduceat(text == ord(letter), starts, dtype=np.uint8)
            for letter in LETTERS
        }
        others = self.lengths.copy()
        for counts in found.values():
            others -= counts
        found[""] = others.astype(np.uint8)
        return found

    def near(self, key: str, least: float) -> "list[int]":
        """The lines whose names may score `least` against a key.

        Edits are at least the letters that one name has and the other lacks, in either direction,
        and the words that both share take as many from each. So no score of edits is above the
        share of the other letters; names with words missing or too many have rules of their own.
        """
        shared = np.zeros(len(self.keys), dtype=np.int16)
        for letter, counts in self.counts.items():
            asked = sum(one not in LETTERS for one in key) if not letter else key.count(letter)
            if asked:
                shared += np.minimum(counts, np.uint8(min(asked, 255)))
        length = np.int16(len(key))
        lacking, beyond = length - shared, self.lengths - shared
        longest = np.maximum(self.lengths, length).astype(np.float32)
        bound = 100 * (1 - np.maximum(lacking, beyond) / longest)
        missing = MISSING[0] + MISSING[1] * length / np.maximum(self.lengths, 1)
        extra = EXTRA[0] + EXTRA[1] * self.lengths / length
        bound = np.where(lacking == 0, np.maximum(bound, missing), bound)
        bound = np.where(beyond == 0, np.maximum(bound, extra), bound)
        # Half a rounding more for the sake of 32 bits.
        return np.flatnonzero(bound * self.weights >= least - 1.5 * ROUNDING).tolist()

    def plain(self, key: str) -> "dict[str, float]":
        """The line of the best name, and the milliseconds that finding it took."""
        began = time.perf_counter()
        best = process.extractOne(key, self.keys, scorer=OSA.normalized_similarity)
        elapsed = (time.perf_counter() - began) * 1000
        return {"line": best[2], "milliseconds": elapsed}


def main() -> None:
    names = Names(Path(sys.argv[1]))
    print(json.dumps(len(names.keys)), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if question["what"] == "near":
            print(json.dumps(names.near(question["key"], question["least"])), flush=True)
        else:
            print(json.dumps(names.plain(question["key"])), flush=True)


if __name__ == "__main__":
    main()
