"""Norway's register of annual accounts: one answer for each company, and its faults."""

from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler

from register_samples import norwegian_accounts
from register_samples.companies import company
from register_samples.registers import NORWAY, Document
from register_samples.server.messages import Stamps, iso, json_answer

PREFIX = "/regnskapsregisteret/regnskap"


class NorwegianAccounts:
    """The filings of companies; changes by a test take effect immediately."""

    def __init__(self, stamps: Stamps, *, companies: int) -> None:
        self._stamps = stamps
        self.accounts: dict[str, list[Document]] = {}
        #: The texts of answers with 500, by number.
        self.errors: dict[str, str] = {}
        for index in range(companies):
            number = str(company(NORWAY, index)["number"])
            if text := norwegian_accounts.error(index):
                self.errors[number] = text
            elif found := norwegian_accounts.accounts(index):
                self.accounts[number] = found

    def refile(self, number: str) -> None:
        """Replaces the newest accounts of a company by a correction."""
        *others, last = sorted(
            self.accounts[number], key=lambda each: each["regnskapsperiode"]["tilDato"]
        )
        self.accounts[number] = [*others, norwegian_accounts.corrected(last)]

    def routes(self) -> list[web.RouteDef]:
        """Returns the table of the interface."""
        return [web.get(f"{PREFIX}/{{number:[0-9]{{9}}}}", self._answer)]

    async def _answer(self, request: web.Request) -> web.Response:
        number = request.match_info["number"]
        if number in self.errors:
            return json_answer(self._error(request.path, self.errors[number]), status=500)
        if number not in self.accounts:
            return web.Response(status=404)
        return json_answer(self.accounts[number])

    def _error(self, path: str, text: str) -> Document:
        return {
            "timestamp": iso(self._stamps.now()),
            "status": "500",
            "error": "Internal Server Error",
            "message": text,
            "path": path,
            "trace": "5f9df86f-57b8-4455-8451-57b9d0a808aa",
        }


@dataclass(frozen=True, slots=True)
class TooManyInside:
    """200 with a body that says `Too many requests`."""

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        return web.Response(text="Too many requests", content_type="text/plain")
