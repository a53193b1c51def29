"""Numbers computed from a position; no two are equal.

Their check digits are right, and no register issues them: an invented company never has the number
of a real one.
"""

from dataclasses import dataclass

#: A prime that divides no capacity below: neighbours get numbers far apart, each number once.
STRIDE = 2_654_435_761

#: Of the ten digits before the check digit one may have no check digit, so nine are used.
CHOICES = 9


@dataclass(frozen=True, slots=True)
class NumberSeries:
    """Numbers whose digits, weighted, add up to a multiple of 11.

    The last two weights are always 2 and 1: the last digit is the check digit, and it does not
    exist (it would be 10) for at most one choice of the digit before it.
    """

    #: The lowest number without its last two digits, and the one after the highest.
    first: int
    end: int
    weights: tuple[int, ...]

    @property
    def capacity(self) -> int:
        return (self.end - self.first) * CHOICES

    def number(self, index: int) -> str:
        """Returns the number at a position below the capacity.

        Raises:
            ValueError: the position is negative or the series ends before it.
        """
        if not 0 <= index < self.capacity:
            raise ValueError(f"the series has {self.capacity} numbers, none at {index}")
        place, choice = divmod(index * STRIDE % self.capacity, CHOICES)
        head = f"{self.first + place:0{len(self.weights) - 2}}"
        partial = sum(map(int.__mul__, self.weights, map(int, head)))
        # 2 * digit + partial = 1 (mod 11) has no check digit; 6 is the inverse of 2.
        forbidden = (1 - partial) * 6 % 11
        digit = choice if choice < forbidden else choice + 1
        return f"{head}{digit}{-(partial + 2 * digit) % 11}"


#: Danish registration numbers (CVR); no issued one begins with 0.
CVR = NumberSeries(1_000, 100_000, (2, 7, 6, 5, 4, 3, 2, 1))

#: Norwegian organisation numbers, of companies and units alike. Issued ones begin with 8 or 9, and
#: the showcase has numbers that begin with 3.
ORGNR = NumberSeries(1_000_000, 3_000_000, (3, 2, 7, 6, 5, 4, 3, 2, 1))

#: Danish production units. The register counts upwards and has reached 103….
P_NUMBER = NumberSeries(15_000_000, 20_000_000, (4, 3, 2, 7, 6, 5, 4, 3, 2, 1))


def gln(prefix: str, index: int) -> str:
    """Returns a Global Location Number: a prefix of four digits, the index, a check digit."""
    body = f"{prefix}{index:08d}"
    total = sum(int(digit) * (3, 1)[place % 2] for place, digit in enumerate(reversed(body)))
    return f"{body}{-total % 10}"
