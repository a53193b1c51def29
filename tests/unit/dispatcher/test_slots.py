"""Slots are given in turn, and none is lost."""

import asyncio

import pytest

from common.contracts.webhooks import WebhookId
from dispatcher.domain.caps import Caps, Place
from dispatcher.usecases.slots import Slots

PLACE = Place(WebhookId("wh_1"), "hooks.example.com", "prøvefirma")


async def test_a_slot_goes_past_one_who_gave_up_the_moment_before() -> None:
    slots = Slots(Caps(webhook=1))
    assert slots.take(PLACE)
    gave_up = asyncio.create_task(slots.wait(PLACE))
    next_one = asyncio.create_task(slots.wait(PLACE))
    await asyncio.sleep(0)

    gave_up.cancel()
    slots.free(PLACE)

    await next_one
    with pytest.raises(asyncio.CancelledError):
        await gave_up
    assert not slots.take(PLACE)


async def test_a_slot_that_was_given_to_one_who_gives_up_is_free_again() -> None:
    slots = Slots(Caps(webhook=1))
    assert slots.take(PLACE)
    gives_up = asyncio.create_task(slots.wait(PLACE))
    await asyncio.sleep(0)

    slots.free(PLACE)
    gives_up.cancel()

    with pytest.raises(asyncio.CancelledError):
        await gives_up
    assert slots.take(PLACE)
