"""Actions of a portal's users, and properties of its pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    FilePayload,
    Locator,
    Page,
    ViewportSize,
    expect,
)

from tests.browsing import new_page

#: Rules of WCAG 2.2 at level AA, and only the elements that break one.
WCAG: Final = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}

#: The rules among them that depend on the colour scheme and the window.
WCAG_OF_A_LOOK: Final = {**WCAG, "runOnly": ["color-contrast", "link-in-text-block", "target-size"]}

NARROWEST: Final = ViewportSize(width=320, height=700)
PHONE: Final = ViewportSize(width=390, height=844)
DESKTOP: Final = ViewportSize(width=1280, height=900)

#: Times that a window tries again where the portal says that it may.
_PATIENCE: Final = 5

#: A customer that is found, one for a person to decide, and one of no register.
CUSTOMERS: Final = """Kunde;Firmanavn;Postnr.;By
1;Prøvefabrikken ApS;1112;København K
2;Prøvefabriken;;
3;Findes Slet Ikke Nogen Steder;;
"""


@dataclass
class Portal:
    """An open page of the portal; `errors` has what its console said."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        await self.page.goto(f"{self.url}{path}")

    async def sign_in(self, key: str) -> None:
        await self.go("/sign-in")
        await self.page.get_by_label("API key").fill(key)
        await self.press("Sign in")

    async def press(self, name: str) -> None:
        """Presses a button of the page, or follows a link that looks like one."""
        main = self.page.get_by_role("main")
        button = main.get_by_role("button", name=name, exact=True)
        await button.or_(main.get_by_role("link", name=name, exact=True)).first.click()

    async def add_companies(self, numbers: str) -> None:
        """Adds companies to the watchlist that is open."""
        field = self.page.get_by_label("Numbers")
        summary = self.page.locator("summary", has_text="Add companies")
        # Until the page is there, nothing is visible, and a click would close what is open.
        await summary.wait_for()
        if not await field.is_visible():
            await summary.click()
        await field.fill(numbers)
        await self.press("Add")

    async def new_webhook_of_list(self) -> None:
        """Opens the form of a webhook for the watchlist that is open."""
        await self.page.get_by_role("link", name="Alerts", exact=True).click()
        await self.press("New webhook …")

    async def sign_out(self) -> None:
        await self.page.get_by_role("button", name="Sign out").click()

    async def create_webhook(self, url: str, *, description: str) -> str:
        """Fills the form that is open; returns the secret."""
        await self.page.get_by_label("URL", exact=True).fill(url)
        await self.page.get_by_label("Description").fill(description)
        await self.press("Create the webhook")
        return await self.page.locator("#secret").inner_text()

    async def choose_customers(self) -> None:
        """Chooses a spreadsheet, and waits for its columns."""
        await self.go("/customers")
        file: FilePayload = {"name": "kunder.csv", "mimeType": "", "buffer": CUSTOMERS.encode()}
        await self.page.locator("#file").set_input_files(file)
        await self.page.get_by_role("button", name="Read the columns").press("Enter")
        await expect(self.heading("Which column is what?")).to_be_visible()

    async def match_customers(self) -> None:
        """Matches them, and waits for the piles."""
        await self.page.get_by_role("button", name="Match 3 rows").press("Enter")
        await expect(self.page.locator(".piles")).to_be_visible()

    @property
    def search_box(self) -> Locator:
        return self.page.locator("#q")

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name)

    async def violations(self, rules: Mapping[str, Any] = WCAG) -> list[str]:
        """Violations of these rules, each with the elements that it is about."""
        await self.page.wait_for_load_state()  # until its styles are there
        # Axe stays in the page for its next look, which then takes two thirds of the first one's.
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE_SCRIPT)
        found: Mapping[str, Any] = await self.page.evaluate("options => axe.run(options)", rules)
        return [
            f"{rule['id']}: {[node['html'] for node in rule['nodes']]}"
            for rule in found["violations"]
        ]

    async def overflow(self, *, narrowest: bool = False) -> int:
        """Pixels that the page is wider than its window, or than the narrowest phone."""
        size = self.page.viewport_size
        if narrowest:
            await self.page.set_viewport_size(NARROWEST)
        width: int = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if narrowest and size is not None:
            await self.page.set_viewport_size(size)
        return width


async def opened(browser: Browser, url: str, **options: Any) -> Portal:
    """A browser's window of its own, with nothing of others in it."""
    context = await browser.new_context(**{"viewport": DESKTOP, "locale": "en-GB", **options})
    page = await new_page(context)
    portal = Portal(page, url)
    # A machine that is busy for some seconds makes the portal say so; a person tries again.
    again = page.get_by_role("main").get_by_text("Try again", exact=True)
    await page.add_locator_handler(again, Locator.click, times=_PATIENCE, no_wait_after=True)

    def hear(message: ConsoleMessage) -> None:
        # The status of a page is no error of the page.
        if message.type == "error" and "the server responded with a status" not in message.text:
            portal.errors.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: portal.errors.append(str(error)))
    page.on("dialog", lambda dialog: portal.dialogs.append(dialog.message))
    return portal
