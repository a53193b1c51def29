"""The group of a company: owners and subsidiaries over several levels."""

from company_registry.models import Country, Model, Share


class GroupCompany(Model):
    """A company of a group that the register has."""

    vat: str
    name: str
    city: str | None = None
    status: str
    #: 0 for the company itself, negative for owners, positive for subsidiaries.
    level: int


class GroupHolder(Model):
    """An owner that is no company of the register; listed for each company that names it."""

    id: str
    name: str
    type: str
    #: Of a company that the register lacks.
    vat: str | None = None


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
    #: True if it is part of a circle of ownership.
    circle: bool = False


class UltimateOwner(Model):
    """An owner at the end of a path of ownership."""

    #: A registration number, or the `id` of a holder.
    owner: str
    name: str
    type: str
    vat: str | None = None
    #: None if a share on one of its paths is unknown.
    share: Share | None = None


class Group(Model):
    """The owners and subsidiaries of a company over several levels."""

    country: Country
    vat: str
    companies: tuple[GroupCompany, ...]
    holders: tuple[GroupHolder, ...] = ()
    links: tuple[GroupLink, ...] = ()
    #: The largest share first; None if not every owner was followed.
    ultimate_owners: tuple[UltimateOwner, ...] | None = None
    #: True if the group goes on beyond the levels, or beyond 500 companies.
    truncated: bool = False
    #: False for Norway, whose open data has partners only.
    shareholders_known: bool = True
