"""A certificate for webhook receivers on this machine, and the authority that issued it.

For trials only. The authority's key is never written, so nothing else can be issued with it.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import trustme

from local_stack.run_files import write_private

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
        """The certificate for localhost, 127.0.0.1 and ::1, and for the container `receiver`."""
        return self.folder / "receiver.pem"

    @property
    def key(self) -> Path:
        """The certificate's key, readable for its owner only."""
        return self.folder / "receiver.key"


def certificates(folder: Path) -> Certificates:
    """Returns the certificates of the folder; issues new ones, which never expire, if needed."""
    kept = Certificates(folder.absolute())
    if not all(file.is_file() for file in (kept.ca_file, kept.certificate, kept.key)):
        _make(kept)
    return kept


def _make(kept: Certificates) -> None:
    """Writes all three files or none: an interrupted run leaves no incomplete folder."""
    unfinished = Certificates(kept.folder.with_name(kept.folder.name + ".new"))
    shutil.rmtree(unfinished.folder, ignore_errors=True)
    unfinished.folder.mkdir(parents=True)
    authority = trustme.CA()
    issued = authority.issue_cert(*_NAMES)
    authority.cert_pem.write_to_path(unfinished.ca_file)
    issued.cert_chain_pems[0].write_to_path(unfinished.certificate)
    write_private(unfinished.key, issued.private_key_pem.bytes().decode())
    shutil.rmtree(kept.folder, ignore_errors=True)
    unfinished.folder.rename(kept.folder)
