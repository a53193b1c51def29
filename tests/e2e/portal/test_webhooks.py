"""Webhooks and their deliveries in the portal."""

import pytest
from playwright.async_api import Browser, expect

from company_registry import verify
from tests.browsing.portal import PHONE, Portal, opened
from tests.delivery.receiver import Receiver
from tests.e2e.register import Register, an_entity

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]


async def test_a_subscriber_sees_a_change_live_and_its_delivery_and_retries_it(
    portal: Portal, register: Register, receiver: Receiver
) -> None:
    number = "310987001"
    await register.load("no-enheter", an_entity(number, "PRØVEPORTALEN AS"))
    await portal.go(f"/companies/no/{number}")
    await portal.press("Alert me")
    await portal.press("Go to its URL …")
    secret = await portal.create_webhook(receiver.url("/portal"), description="My company")
    await portal.press("Go to the webhook")
    webhook = portal.page.url.removeprefix(portal.url)
    await portal.go(f"/events?companies=no:{number}")
    await expect(portal.page.get_by_text("Live", exact=True)).to_be_visible()

    await register.load("no-enheter", an_entity(number, "NYE PRØVEPORTALEN AS"))

    event = portal.page.locator("#events .event").first
    await expect(event).to_have_attribute("title", "company.updated")
    await expect(event.locator(".old").first).to_have_text("PRØVEPORTALEN AS")
    await expect(event.locator(".new").first).to_have_text("NYE PRØVEPORTALEN AS")
    delivery = await receiver.next("/portal")
    verify(delivery.headers, delivery.body, secret)
    await portal.go(f"{webhook}/deliveries")
    await portal.page.locator("tbody td a").first.click()
    await expect(portal.page.locator("#body-text")).to_contain_text('"NYE PRØVEPORTALEN AS"')
    await portal.press("Send again")
    await receiver.next("/portal", number=2)
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await expect(portal.page.locator(".timeline .succeeded")).to_have_count(2)
    await portal.go(f"/companies/no/{number}")
    await expect(portal.page.locator("#history ~ .days .day")).not_to_have_count(0)


async def test_a_webhook_is_edited_tested_rotated_disabled_enabled_recovered_and_deleted(
    portal: Portal, receiver: Receiver
) -> None:
    page = portal.page
    await portal.go("/webhooks/new")
    secret = await portal.create_webhook(receiver.url("/managed"), description="Managed")
    await portal.press("Go to the webhook")
    webhook = page.url
    await portal.press("Send")
    await expect(page.locator("#progress")).to_contain_text("The attempt succeeded")
    delivery = await receiver.next("/managed")
    verify(delivery.headers, delivery.body, secret)

    await page.goto(webhook)
    await portal.press("Edit")
    await page.get_by_label("Description").fill("Renamed")
    await page.get_by_label("Denmark").check()
    await portal.press("Save")
    await expect(portal.heading("Renamed")).to_be_visible()
    await portal.press("Rotate the secret …")
    await expect(page.get_by_text("For 24 hours")).to_be_visible()
    await portal.press("Rotate the secret")
    assert await page.locator("#secret").inner_text() != secret
    await portal.press("Go to the webhook")
    await portal.press("Disable")
    await expect(page.get_by_text("Disabled", exact=True).first).to_be_visible()
    await portal.press("Enable")
    await page.get_by_label("Recover from").fill("2026-11-01T00:00")
    await portal.press("Recover")
    await portal.press("Delete …")
    await portal.press("Delete")

    await expect(portal.heading("No webhooks yet")).to_be_visible()


async def test_single_events_are_chosen_by_keyboard_and_the_form_says_what_arrives(
    portal: Portal, receiver: Receiver
) -> None:
    page, said = portal.page, portal.page.locator("#arrivals")
    await portal.go("/webhooks/new")
    await expect(said).to_have_text(
        "This webhook receives every event about any company in both registers."
    )

    await page.get_by_role("radio", name="All events").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.get_by_role("checkbox", name="owners.changed").focus()
    await page.keyboard.press("Space")
    await page.get_by_label("Norway").check()
    await expect(said).to_have_text(
        "This webhook receives owners.changed events about any company in Norway."
    )
    await portal.create_webhook(receiver.url("/single"), description="Single")
    await portal.press("Go to the webhook")

    await expect(page.locator(".facts-list code").first).to_have_text("owners.changed")
    assert await page.get_by_text("*", exact=True).count() == 0


async def test_on_a_phone_the_plot_begins_with_the_newest_hour_and_attempts_are_cards(
    browser: Browser, portal_url: str, key: str, receiver: Receiver
) -> None:
    portal = await opened(
        browser, portal_url, viewport=PHONE, timezone_id="Asia/Kolkata", has_touch=True
    )
    await portal.sign_in(key)
    await portal.go("/webhooks/new")
    await portal.create_webhook(receiver.url("/phone"), description="Phone")
    await portal.press("Go to the webhook")
    webhook = portal.page.url
    await portal.press("Send")
    await expect(portal.page.locator("#progress")).to_contain_text("The attempt succeeded")
    await portal.page.goto(f"{webhook}/deliveries")

    await expect(portal.page.locator("rect.bar-good").first).to_be_in_viewport()
    card = portal.page.get_by_role("row").filter(has_text="webhook.test")
    box = await card.bounding_box()
    assert box is not None
    assert box["width"] <= PHONE["width"]
    # Half an hour apart from whole hours, so neither UTC nor this machine's zone.
    await expect(card.locator("time")).to_contain_text("IST")
