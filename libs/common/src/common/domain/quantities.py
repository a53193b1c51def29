"""Numbers of things, in sentences for people."""


def counted(count: int, noun: str) -> str:
    """Returns `1 record`, `2,000 records` or `0 companies`; the noun is a regular singular."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun.removesuffix('y') + 'ie' if noun.endswith('y') else noun}s"
