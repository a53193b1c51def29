"""The service manifest, which says what a reconciliation service offers and where."""

from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from common.contracts.company import Country
from gateway.reconcile.properties import TYPE
from gateway.reconcile.queries import MAX_QUERIES

#: The query parameter that may have the key: OpenRefine sends no headers.
KEY_PARAMETER: Final = "api_key"

_NAMES: Final = {Country.DK: "Denmark (CVR)", Country.NO: "Norway (Brønnøysund)"}
#: The registers' own addresses of a company, followed by its number.
_IDENTIFIERS: Final = {
    Country.DK: "https://datacvr.virk.dk/enhed/virksomhed/",
    Country.NO: "https://data.brreg.no/enhetsregisteret/api/enheter/",
}
_SCHEMA: Final = "https://schema.org/Organization"

#: Pixels.
PREVIEW_SIZE: Final = (430, 300)


class Links(NamedTuple):
    """The addresses that a manifest needs."""

    #: Of this service, without a slash at its end.
    service: str
    #: Of the portal, or empty without one.
    portal: str
    #: The key that the manifest was requested with in its address, and links to companies have too.
    key: str
    #: True if a page of this service may be read without a key.
    anonymous: bool

    def keyed(self, path: str) -> str:
        """Returns a path with the key, if there is one."""
        if not self.key:
            return path
        return f"{path}{'&' if '?' in path else '?'}{KEY_PARAMETER}={quote(self.key)}"

    def view(self, country: Country) -> str:
        """Returns the page of a company as a template; empty if none can be read without a key."""
        if self.portal:
            return f"{self.portal}/companies/{country}/{{{{id}}}}"
        return f"{self.service}{preview_path(country)}" if self.anonymous else ""


def preview_path(country: Country) -> str:
    """Returns the path of a company's preview as a template."""
    return f"/reconcile/{country}/preview?id={{{{id}}}}"


def manifest(country: Country, links: Links) -> dict[str, Any]:
    """Returns the manifest of a country's register."""
    root = f"/reconcile/{country}"
    width, height = PREVIEW_SIZE
    document: dict[str, Any] = {
        "versions": ["0.2"],
        "name": f"Company registry: {_NAMES[country]}",
        "identifierSpace": _IDENTIFIERS[country],
        "schemaSpace": _SCHEMA,
        "defaultTypes": [TYPE],
        "documentation": f"{links.service}/docs",
        "serviceVersion": version("gateway"),
        "batchSize": MAX_QUERIES,
        "authentication": {"type": "apiKey", "name": KEY_PARAMETER, "in": "query"},
        "preview": {
            "url": links.service + links.keyed(preview_path(country)),
            "width": width,
            "height": height,
        },
        "suggest": {
            name: {"service_url": links.service, "service_path": path}
            for name, path in (
                ("entity", links.keyed(f"{root}/suggest/entity")),
                ("property", f"{root}/suggest/property"),
                ("type", f"{root}/suggest/type"),
            )
        },
        "extend": {
            # OpenRefine appends `?type=`, so this path cannot have a query.
            "propose_properties": {
                "service_url": links.service,
                "service_path": f"{root}/properties",
            },
            "property_settings": [],
        },
    }
    view = links.view(country)
    return {**document, "view": {"url": view}} if view else document
