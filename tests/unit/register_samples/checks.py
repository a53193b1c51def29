"""The registers' check digits, written from their descriptions and not from our code."""


def mod11(number: str, weights: tuple[int, ...]) -> bool:
    assert len(number) == len(weights)
    return sum(int(d) * w for d, w in zip(number, weights, strict=True)) % 11 == 0


def is_cvr(number: str) -> bool:
    return mod11(number, (2, 7, 6, 5, 4, 3, 2, 1))


def is_orgnr(number: str) -> bool:
    return mod11(number, (3, 2, 7, 6, 5, 4, 3, 2, 1))


def is_p_number(number: str) -> bool:
    return int(number) > 1006959421 and mod11(number, (4, 3, 2, 7, 6, 5, 4, 3, 2, 1))


def is_gln(number: str) -> bool:
    """Thirteen digits, weighted 1 and 3 in turn, add up to a multiple of ten."""
    digits = [int(digit) for digit in number]
    return len(digits) == 13 and (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0
