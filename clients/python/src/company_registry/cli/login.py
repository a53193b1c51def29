"""`login`, `logout` and `key`: the key to call with."""

import os
import re
import sys
from typing import Final

import typer

from company_registry.cli.output import Column
from company_registry.cli.session import (
    DEFAULT_PROFILE,
    DEFAULT_URL,
    KEY_VARIABLES,
    PROFILE_VARIABLE,
    URL_VARIABLES,
    Exit,
    Profile,
    Session,
    first,
)
from company_registry.client import Client
from company_registry.webhook_models import Key

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def login(session: Session) -> None:
    """Store the URL of a service and a key, so that commands need neither.

    The key is read without echo, or from standard input where that is no terminal. It is stored
    once the service has accepted it, in a file that only you can read, as --profile.
    """
    name = _profile(session)
    with session.failing():
        profiles = session.profiles.load()
        url = _url(session, profiles.get(name))
        key = session.options.key or _read_key(session)
        with Client(url, key) as client:
            owner = client.me()
        session.profiles.save({**profiles, name: Profile(url=url.rstrip("/"), key=key)})
    session.show(owner, lambda: _show(session, owner, url, name))
    session.note(f"Stored as profile {name} in {session.profiles.path}.")
    for variable in (*URL_VARIABLES, *KEY_VARIABLES):
        if os.environ.get(variable):
            session.note(f"{variable} is set, and is used instead unless --profile is given.")


def logout(session: Session) -> None:
    """Delete a stored key; it stays valid until it is revoked."""
    name = _profile(session)
    with session.failing():
        profiles = session.profiles.load()
        if name not in profiles:
            session.fail(f"there is no profile {name}", Exit.NOT_FOUND)
        del profiles[name]
        session.profiles.save(profiles)
    session.note(f"Deleted profile {name}. Its key stays valid until it is revoked.")


def show_key(session: Session) -> None:
    """Show the API key in use: its owner, scopes and rate."""
    with session.client() as client:
        key = client.me()
        service = session.service()
    session.show(key, lambda: _show(session, key, service.url, service.profile))


def _profile(session: Session) -> str:
    name = session.options.profile or os.environ.get(PROFILE_VARIABLE) or DEFAULT_PROFILE
    if not _NAME.fullmatch(name):
        session.fail(
            "--profile must be letters, digits, dots, underscores and hyphens, at most 64",
            Exit.USAGE,
        )
    return name


def _url(session: Session, stored: Profile | None) -> str:
    given = session.options.url or first(os.environ, URL_VARIABLES)
    return given or (stored.url if stored else DEFAULT_URL)


def _read_key(session: Session) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("API key", hide_input=True, err=True)).strip()
    key = sys.stdin.readline(1000).strip()
    if not key:
        session.fail("standard input must hold the key", Exit.USAGE)
    return key


def _show(session: Session, key: Key, url: str, profile: str | None) -> None:
    rate = key.rate
    rows = [
        ("Service", url),
        ("Profile", profile),
        ("Owner", key.owner),
        ("Name", key.name),
        ("Scopes", " ".join(key.scopes)),
        ("Rate", f"{rate.count} in {rate.window_seconds} s, {rate.remaining} left"),
        ("Expires", key.expires_at or "never"),
    ]
    session.table(Column("Field", whole=True), "Value", rows=rows)
