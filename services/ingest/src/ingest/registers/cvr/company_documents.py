"""A company's document as the register writes it, and what it says of the present."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Final

from common.contracts.company import Country, LegalForm
from common.domain.countries import FORMATS
from ingest.records.fields import (
    Day,
    Flag,
    Many,
    Text,
    amount_of,
    cached_property,
    digits,
    first,
    iso_day,
    legal_form,
)
from ingest.records.records import Reorganisation
from ingest.registers.cvr.dated_values import Dated, State, Word, fold_word, unbroken_since
from ingest.registers.cvr.decrees import CourtNotice, Procedure, procedures
from ingest.registers.cvr.documents import Contact, CvrDocument, Metadata, Name
from ingest.registers.cvr.memberships import Attribute, AttributeValue, Relation, by_type
from ingest.registers.cvr.owners import Participants
from ingest.registers.cvr.reorganisations import End, GivenReorganisation, reorganisations

#: The abbreviations that the register writes otherwise than companies do.
_SHORT: Final = {
    "APS": "ApS",
    "KAS": "P/S",
    "E/S": "SE",
    "ABA": "A.M.B.A.",
    "FMA": "F.M.B.A.",
    "SMA": "S.M.B.A.",
}


class CompanyForm(Dated):
    """A legal form of a company, with its period."""

    virksomhedsformkode: Text = None
    kort_beskrivelse: Text = None
    lang_beskrivelse: Text = None

    @property
    def public(self) -> LegalForm | None:
        """The public form of the legal form; None without a code."""
        short = self.kort_beskrivelse and _SHORT.get(self.kort_beskrivelse, self.kort_beskrivelse)
        return legal_form(self.virksomhedsformkode, self.lang_beskrivelse, short)


class StatusWord(Dated):
    """A status of a company in the register's own word, with its period."""

    status: Text = None


class ListedUnit(Dated):
    """A production unit that a company lists, with its period."""

    p_nummer: Text = None


class CompanyMetadata(Metadata):
    """The newest values of a company."""

    nyeste_virksomhedsform: CompanyForm | None = None
    nyeste_binavne: Many[Text] = ()
    stiftelses_dato: Day = None


class CvrCompany(CvrDocument):
    """A company (`Vrvirksomhed`) as the register writes it."""

    cvr_nummer: Annotated[str, digits(FORMATS[Country.DK].vat_digits)]
    binavne: Many[Name] = ()
    hjemmeside: Many[Contact] = ()
    status: Many[CourtNotice] = ()
    virksomhedsstatus: Many[StatusWord] = ()
    virksomhedsform: Many[CompanyForm] = ()
    attributter: Many[Attribute] = ()
    penheder: Many[ListedUnit] = ()
    #: Absent if the documents were requested without it.
    deltager_relation: Many[Relation] | None = None
    fusioner: Many[GivenReorganisation] = ()
    spaltninger: Many[GivenReorganisation] = ()
    virksomhed_metadata: CompanyMetadata | None = None
    #: True if the register could not load all of the document, mostly of the participants.
    fejl_ved_indlaesning: Flag = None
    fejl_beskrivelse: Text = None

    @property
    def newest(self) -> CompanyMetadata:
        """The metadata, which may be empty."""
        return self.virksomhed_metadata or CompanyMetadata()

    @cached_property
    def status_word(self) -> StatusWord | None:
        """The word of the history for the status, of words of one day that of the summary."""
        if len(self.virksomhedsstatus) < 2:
            return self.as_of.latest(self.virksomhedsstatus)
        summary = fold_word(self.newest.sammensat_status or "")
        told = (one for one in self.virksomhedsstatus if fold_word(one.status or "") == summary)
        return self.as_of.latest(self.virksomhedsstatus, next(told, None))

    @property
    def words(self) -> tuple[Word, ...]:
        """The register's words for the status: that of its history before a mere summary.

        A word of the history that is over counts last, except after the company's end.
        """
        found = self.status_word
        if found is None:
            return super().words
        same = [one for one in self.virksomhedsstatus if one.status == found.status]
        word = Word(found.status, "virksomhedsstatus.status", unbroken_since(same, found))
        is_present = self.ended is not None or self.as_of.is_current(found)
        return (word, *super().words) if is_present else (*super().words, word)

    @cached_property
    def procedures(self) -> Sequence[Procedure]:
        """The procedures of insolvency that notices of courts tell of."""
        newest = self.newest.nyeste_status
        given = self.status or ((newest,) if newest else ())
        return procedures(given, self.as_of, self.odd) if given else ()

    def insolvent(self, otherwise: State) -> State:
        """Returns the status by the procedure that is in force, or else `otherwise`.

        After a procedure the company is what it was before, from the day on which that ended.
        """
        in_force = [one for one in self.procedures if one.until is None]
        if in_force:
            newest = in_force[-1]
            return State(newest.status, newest.text, newest.since, otherwise.odd)
        if not self.procedures:
            return otherwise
        last = max(self.procedures, key=lambda one: one.until or "")
        since = max(otherwise.since or "", last.until or "") or None
        return otherwise._replace(since=since, text=last.doubt or otherwise.text)

    @cached_property
    def form(self) -> CompanyForm | None:
        """The current legal form."""
        newest = self.newest.nyeste_virksomhedsform
        return self.as_of.latest(self.virksomhedsform, newest) or newest

    @cached_property
    def reorganisations(self) -> tuple[Reorganisation, ...]:
        """The mergers and demergers in which the company took part, oldest first."""
        if not self.fusioner and not self.spaltninger:
            return ()
        end = End(self.ended, self.state.text)
        return reorganisations(self.fusioner, self.spaltninger, self.as_of, end)

    @cached_property
    def participants(self) -> Participants | None:
        """The participants; None if the document was requested without them."""
        if self.deltager_relation is None:
            return None
        form = None if self.form is None else self.form.virksomhedsformkode
        return Participants.of(self.deltager_relation, form, self.as_of, self.odd)

    @cached_property
    def _attributes(self) -> Mapping[str, Sequence[AttributeValue]]:
        """The values of the attributes by their type."""
        return by_type(self.attributter)

    def attribute_values(self, type_: str) -> Sequence[AttributeValue]:
        """Returns the values of an attribute over time."""
        return self._attributes.get(type_, ())

    def has_no_attributes(self, types: AbstractSet[str]) -> bool:
        """Returns True if the company has none of these attributes."""
        return self._attributes.keys().isdisjoint(types)

    def attribute(self, type_: str) -> str | None:
        """Returns the value of an attribute."""
        values = self._attributes.get(type_)
        value = first(self.current_or_last(values)) if values else None
        return None if value is None else value.vaerdi

    def amount(self, type_: str) -> str | None:
        """Returns the value of an attribute that is an amount of money; None if there is none."""
        try:
            return amount_of(self.attribute(type_))
        except ValueError:
            self.odd.append(f"attributter.{type_}")
            return None

    def flag(self, type_: str) -> bool | None:
        """Returns the value of an attribute that is true or false; None if there is none."""
        text = self.attribute(type_)
        if text is not None and text.lower() not in ("true", "false"):
            self.odd.append(f"attributter.{type_}")
            return None
        return None if text is None else text.lower() == "true"

    def day(self, type_: str) -> str | None:
        """Returns the value of an attribute that is a date; None if there is none."""
        text = self.attribute(type_)
        found = None if text is None else iso_day(text)
        if text is not None and found is None:
            self.odd.append(f"attributter.{type_}")
        return found
