"""A certificate for webhook receivers on this machine, and the authority that issued it.

For trials only. The authority's key is never written, so that nothing else can be issued with it.
"""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509

from local_stack.run_files import write_private

#: Validity, and how long before its end a certificate is replaced.
_VALID = timedelta(days=90)
_NEAR = timedelta(days=14)

_NAMES = ("localhost", "receiver", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files in one folder."""

    folder: Path

    @property
    def ca_file(self) -> Path:
        """The authority that senders must trust."""
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        """For localhost, 127.0.0.1 and ::1, and for the container `receiver`."""
        return self.folder / "receiver.pem"

    @property
    def key(self) -> Path:
        """The certificate's; readable for its owner only."""
        return self.folder / "receiver.key"


def certificates(folder: Path, *, now: datetime | None = None) -> Certificates:
    """Return those in the folder; new ones if there are none or they expire soon."""
    at = datetime.now(UTC) if now is None else now
    kept = Certificates(folder.absolute())
    if not _good(kept, at):
        _make(kept, at)
    return kept


def _good(kept: Certificates, at: datetime) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(kept.certificate.read_bytes())
    except (FileNotFoundError, ValueError):
        return False
    return at + _NEAR < certificate.not_valid_after_utc


def _make(kept: Certificates, at: datetime) -> None:
    """Write all three files or none: an interrupted run leaves no incomplete folder."""
    unfinished = Certificates(kept.folder.with_name(kept.folder.name + ".new"))
    shutil.rmtree(unfinished.folder, ignore_errors=True)
    unfinished.folder.mkdir(parents=True)
    authority = trustme.CA()
    issued = authority.issue_cert(*_NAMES, not_after=at + _VALID)
    authority.cert_pem.write_to_path(unfinished.ca_file)
    issued.cert_chain_pems[0].write_to_path(unfinished.certificate)
    write_private(unfinished.key, issued.private_key_pem.bytes().decode())
    shutil.rmtree(kept.folder, ignore_errors=True)
    unfinished.folder.rename(kept.folder)
