"""The metric that distinguishes one dead receiver from many."""

from dispatcher.telemetry import RecentReceivers


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_receiver_counts_once_with_its_last_outcome() -> None:
    receivers = RecentReceivers(Clock())

    for succeeded in (True, False, False):
        receivers.note("a.example", succeeded)
    receivers.note("b.example", succeeded=True)

    assert (receivers.count(succeeded=True), receivers.count(succeeded=False)) == (1, 1)


def test_a_receiver_is_forgotten_after_a_quarter_of_an_hour() -> None:
    clock = Clock()
    receivers = RecentReceivers(clock)
    receivers.note("a.example", succeeded=False)

    clock.seconds = 901

    assert receivers.count(succeeded=False) == 0
