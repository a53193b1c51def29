"""The group of a company: owners and subsidiaries over several levels."""

from decimal import Decimal
from typing import Final, Literal

from company_registry.models import Model, ReadCountry, Share

#: Percent from which rules on beneficial owners usually count an owner.
THRESHOLD: Final = Decimal(25)

#: Whether a share reaches the threshold; `maybe` if only the upper end of its interval does.
Reach = Literal["yes", "maybe", "no", "unknown"]


class GroupRecord(Model):
    """A company's record in the other register, which names it by its number at home."""

    country: ReadCountry
    vat: str


class GroupCompany(Model):
    """A company of a group that a register has."""

    #: None of an earlier service, which answers with companies of one register.
    country: ReadCountry | None = None
    vat: str
    name: str
    city: str | None = None
    status: str
    #: 0 for the company itself, negative for owners, positive for subsidiaries.
    level: int
    other_records: tuple[GroupRecord, ...] = ()


class GroupHolder(Model):
    """An owner that is no company of the register; listed for each company that names it."""

    id: str
    name: str
    type: str
    #: Of a company that the register lacks.
    vat: str | None = None
    country: ReadCountry | None = None


class GroupLink(Model):
    """An ownership in a group."""

    #: A registration number, or the `id` of a holder.
    owner: str
    #: A registration number.
    owned: str
    role: str | None = None
    #: The register's own word for the role.
    role_text: str | None = None
    share: Share | None = None
    votes: Share | None = None
    since: str | None = None
    #: The source that says so, such as `dk-virksomhed`; None of an earlier service.
    source: str | None = None
    #: True if it is part of a circle of ownership.
    circle: bool = False


class UltimateOwner(Model):
    """An owner at the end of a path of ownership."""

    #: A registration number, or the `id` of a holder.
    owner: str
    name: str
    type: str
    vat: str | None = None
    country: ReadCountry | None = None
    #: None if a share on one of its paths is unknown.
    share: Share | None = None


class Group(Model):
    """The owners and subsidiaries of a company over several levels."""

    country: ReadCountry
    vat: str
    companies: tuple[GroupCompany, ...]
    holders: tuple[GroupHolder, ...] = ()
    links: tuple[GroupLink, ...] = ()
    #: The largest share first; None if not every owner was followed.
    ultimate_owners: tuple[UltimateOwner, ...] | None = None
    #: True if circles of ownership have too many paths to add up: a share behind one of them is
    #: then at least what was added.
    shares_truncated: bool = False
    #: True if the group goes on beyond the levels or 500 companies, or has too many owners.
    truncated: bool = False
    #: False for Norway, whose open data has partners and the companies of groups only.
    shareholders_known: bool = True

    def reach(self, owner: UltimateOwner) -> Reach:
        """Returns whether an ultimate owner's share reaches 25 %, as it is computed.

        The register does not state it: the share is multiplied along the paths and added up.
        """
        if owner.share is None:
            return "unknown"
        if Decimal(owner.share.min) >= THRESHOLD:
            return "yes"
        is_open = self.shares_truncated or Decimal(owner.share.max) >= THRESHOLD
        return "maybe" if is_open else "no"
