"""The guides as pages of the gateway: rendered, escaped, and linked without a dead end."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urljoin
from xml.etree import ElementTree

import orjson
import pytest

from common.runtime.public_port.rates import Rate
from company_registry.mcp import Api, connections
from company_registry.mcp.server import GUIDES
from gateway.http.documentation import (
    GUIDE_PATH,
    INDEX_PATH,
    LLMS_FULL_PATH,
    LLMS_PATH,
    Guides,
    guides,
)
from gateway.problems import PROBLEMS
from tests.builders.openapi import DOCUMENT
from tests.fakes.gateway import Gateway, code_of
from tests.fakes.gateway import gateway as a_gateway

DOCS = Path(__file__).parents[2] / "docs"
ATOM = "{http://www.w3.org/2005/Atom}"
LINK = re.compile(r'(?:href|src)="([^"]*)"')


async def read_all(gateway: Gateway) -> Mapping[str, str]:
    """The pages that links lead to from the index, by their paths."""
    pages: dict[str, str] = {}
    ahead = [INDEX_PATH]
    while ahead:
        path = ahead.pop()
        answer = await gateway.get(path)
        assert answer.status == 200, path
        is_page = answer.content_type == "text/html"
        pages[path] = await answer.text() if is_page else ""
        links = (urljoin(path, link).partition("#")[0] for link in LINK.findall(pages[path]))
        ahead += {link for link in links if link.startswith(INDEX_PATH)} - {*pages, *ahead}
    return pages


async def test_every_guide_is_a_page_and_every_link_leads_somewhere(gateway: Gateway) -> None:
    pages = await read_all(gateway)

    unread = {f"{INDEX_PATH}/{page}" for page in guides().files} - pages.keys()
    broken = [
        f"{path}: {link}"
        for path, text in pages.items()
        for link in LINK.findall(text)
        if not re.match("https?:|mailto:", link)
        for target, _, anchor in [urljoin(path, link).partition("#")]
        if target not in {*pages, "/docs", "/openapi.json"}
        or (anchor and f'id="{anchor}"' not in pages[target])
    ]
    assert unread == set()
    assert broken == []
    assert all("<script" not in text and "style=" not in text for text in pages.values())


async def test_the_reference_links_to_guides_and_verifiers(gateway: Gateway) -> None:
    pages = await read_all(gateway)

    described = orjson.dumps(DOCUMENT).decode()
    named = {DOCUMENT["externalDocs"]["url"]} | {
        tag["externalDocs"]["url"] for tag in DOCUMENT["tags"] if "externalDocs" in tag
    }
    named |= set(re.findall(r"\]\((/guides[^)#]*)", described))
    assert named <= pages.keys()
    assert {f"{INDEX_PATH}/webhooks/verify.{ending}" for ending in ("py", "go", "mjs")} <= (
        pages.keys()
    )
    assert 'href="guides"' in await (await gateway.get("/docs")).text()


async def test_a_verifier_is_shown_as_it_is(gateway: Gateway) -> None:
    answer = await gateway.get(f"{INDEX_PATH}/webhooks/verify.py")

    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    source = Path(__file__).parents[2] / "docs" / "webhooks" / "verify.py"
    assert await answer.read() == source.read_bytes()


async def test_a_problem_leads_to_its_explanation(gateway: Gateway) -> None:
    explained = await (await gateway.get(f"{INDEX_PATH}/problems")).text()

    answer = await gateway.get("/api?country=dk&vat=1&format=xml")

    assert answer.headers["Link"] == '</guides/problems#invalid_parameter>; rel="help"'
    assert [code for code in PROBLEMS if f'id="{code}"' not in explained] == []


async def test_documentation_is_not_counted_and_needs_no_valid_key() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
        read = [
            (await gateway.get(path, headers={"X-API-Key": "x"})).status
            for path in ("/docs", "/openapi.json", INDEX_PATH, f"{INDEX_PATH}/problems")
        ]
        lookups = [(await gateway.get("/api?country=dk&vat=12345674")).status for _ in range(2)]

    assert read == [200] * 4
    assert lookups == [200, 429]
    assert gateway.keys.reads == []


async def test_a_guide_is_its_markdown_where_its_path_ends_in_md(gateway: Gateway) -> None:
    for page, file in guides().files.items():
        if file.suffix != ".md":
            continue
        path = f"{INDEX_PATH}/{page}.md"
        answer = await gateway.get(path)
        if answer.status == 302:
            # To the file's own path, from which its relative links lead to other files.
            path = urljoin(path, answer.headers["Location"])
            answer = await gateway.get(path)

        assert (answer.status, await answer.read()) == (200, file.read_bytes()), page
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        own = "changelog.md" if page == "changelog" else file.relative_to(DOCS).as_posix()
        assert path == f"{INDEX_PATH}/{own}"


@pytest.mark.parametrize("name", GUIDES)
async def test_a_guide_that_the_mcp_server_names_can_be_read_of_it(
    gateway: Gateway, name: str
) -> None:
    url = str(gateway.client.make_url("/")).rstrip("/")
    async with connections(url) as shared:
        read = await Api(url, shared).guide(name)

    assert read == guides().files[name].read_text()


async def test_programs_read_a_list_of_the_guides_and_all_of_those_for_clients(
    gateway: Gateway,
) -> None:
    listed = await (await gateway.get(LLMS_PATH)).text()
    full = await (await gateway.get(LLMS_FULL_PATH)).text()

    assert listed.startswith("# Company Registry Lookup Service\n\n> One HTTP API")
    links = re.findall(r"\]\(([^)]*)\)", listed)
    statuses = {link: (await gateway.get(urljoin(LLMS_PATH, link))).status for link in links}
    assert {"openapi.json", "llms-full.txt", "guides/lookups.md"} <= statuses.keys()
    assert set(statuses.values()) == {200}
    assert [link for link in links if "adr/" in link] == ["guides/adr/README.md"]
    for page in ("agents.md", "lookups.md", "many.md", "webhooks/README.md", "problems.md"):
        assert (DOCS / page).read_text() in full


async def test_releases_are_an_atom_feed_that_leads_to_the_changelog(gateway: Gateway) -> None:
    path = f"{INDEX_PATH}/changelog.atom"
    answer = await gateway.get(path)
    page = await (await gateway.get(f"{INDEX_PATH}/changelog")).text()

    feed = ElementTree.fromstring(await answer.read())  # noqa: S314 (our own answer)
    own, alternate = (urljoin(path, link.attrib["href"]) for link in feed.findall(f"{ATOM}link"))
    entries = feed.findall(f"{ATOM}entry")
    titles = [entry.findtext(f"{ATOM}title") for entry in entries]
    anchors = [entry.find(f"{ATOM}link").attrib["href"].partition("#")[2] for entry in entries]  # type: ignore[union-attr]
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert (own, alternate) == (path, f"{INDEX_PATH}/changelog")
    assert titles[-2:] == ["1.1.0", "1.0.0"]
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert "<h3" in str(entries[0].findtext(f"{ATOM}content"))
    again = await gateway.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304


async def test_no_other_file_is_a_guide(gateway: Gateway) -> None:
    for path in ("nothing", "..%2FREADME.md", "webhooks/verify.py.md", "/etc/passwd"):
        assert await code_of(await gateway.get(GUIDE_PATH.format(guide=path))) == (
            404,
            "not_found",
        )


def test_markup_in_a_guide_is_text(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "# <b>A</b>\n\n<script>alert(1)</script> [x](javascript:alert(1)) [gone](../b.md) "
        "[`c`](a.md#a)\n"
    )

    page = Guides({"a": file}).rendered("a")

    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1))" in page
    assert "<span>gone</span>" in page
    assert '<a href="a#a" rel="noopener"><code>c</code></a>' in page
