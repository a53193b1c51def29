"""A certificate for receivers of webhooks on this machine, and the authority that issued it.

For trials only. The authority's own key is thrown away as soon as it has signed, so that nobody can
make it vouch for anything else.
"""

import ipaddress
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from local_stack.private_file import write_private

#: How long one is valid, and how long before its end it is replaced.
_VALID = timedelta(days=90)
_NEAR = timedelta(days=14)
#: A clock that is a little behind ours must not call it not yet valid.
_SKEW = timedelta(hours=1)

_NAMES = x509.SubjectAlternativeName(
    [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
    ]
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files in one folder."""

    folder: Path

    @property
    def ca_file(self) -> Path:
        """What senders have to believe."""
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        """For localhost, 127.0.0.1 and ::1."""
        return self.folder / "receiver.pem"

    @property
    def key(self) -> Path:
        """The certificate's; readable for its owner only."""
        return self.folder / "receiver.key"


def certificates(folder: Path, *, now: datetime | None = None) -> Certificates:
    """Those in the folder; new ones when there are none, or theirs is near its end."""
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
    """All three files or none: what an interrupted run leaves is not taken for whole."""
    unfinished = Certificates(kept.folder.with_name(kept.folder.name + ".new"))
    shutil.rmtree(unfinished.folder, ignore_errors=True)
    unfinished.folder.mkdir(parents=True)
    authority, key = _authority(at), ec.generate_private_key(ec.SECP256R1())
    unfinished.ca_file.write_bytes(_pem(authority.certificate))
    unfinished.certificate.write_bytes(_pem(authority.issue(key, at)))
    write_private(unfinished.key, _private_pem(key))
    shutil.rmtree(kept.folder, ignore_errors=True)
    unfinished.folder.rename(kept.folder)


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def issue(self, key: ec.EllipticCurvePrivateKey, at: datetime) -> x509.Certificate:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            _unsigned(_named("localhost"), self.certificate.subject, key, at)
            .add_extension(_NAMES, critical=False)
            .add_extension(issuer, critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self.key, hashes.SHA256())
        )


def _authority(at: datetime) -> _Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named(f"local trials, {at:%Y-%m-%d %H:%M:%S}")
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _unsigned(name, name, key, at)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)
        .add_extension(own, critical=False)
        .sign(key, hashes.SHA256())
    )
    return _Authority(certificate, key)


_SIGNS_CERTIFICATES = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=False,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, at: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - _SKEW)
        .not_valid_after(at + _VALID)
    )


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
