"""Silence: nothing has arrived for a while, not even the answer to a probe."""

from common.messaging.rpc_links import PROBE, Silence


def test_a_probe_without_an_answer_is_silence_until_something_arrives() -> None:
    changes: list[bool] = []
    silence = Silence(lambda: changes.append(silence.is_silent))

    due = [silence.is_due(at) for at in (0.0, PROBE / 2, PROBE, 2 * PROBE)]
    silence.heard()

    assert due == [True, False, False, False]
    assert changes == [True, False]


def test_something_slow_that_answers_probes_is_never_silent() -> None:
    silence = Silence()

    for at in range(10):
        assert silence.is_due(float(at))
        assert not silence.is_due(at + PROBE / 2)
        silence.heard()

    assert not silence.is_silent
