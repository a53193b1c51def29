"""Companies that are founded while the sample registers run."""

from register_samples.server.registers import Registers


def test_there_are_newcomers_however_long_ago_counting_began() -> None:
    registers = Registers(companies=1, seed=1, newcomers=10**9)

    norwegian, danish = registers.add_companies()

    assert (len(norwegian), len(danish)) == (9, 8)
