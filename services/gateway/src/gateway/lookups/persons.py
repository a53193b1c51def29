"""Rows of private persons in lists of customers."""

from typing import Final

from common.domain.written import is_personal_number, plain

_WORDS: Final = frozenset({
    "privat", "private", "privatperson", "privatkunde", "privatkunder", "privatadresse",
})  # fmt: skip

#: Common given names of Denmark and Norway.
_GIVEN: Final = frozenset({
    "alexander", "anders", "andreas", "anette", "anita", "anna", "anne", "annette", "arne",
    "asbjørn", "astrid", "bent", "bente", "berit", "birgit", "birgitte", "birthe", "bjarne",
    "bjørn", "bo", "brian", "britt", "camilla", "carl", "carsten", "cecilie", "charlotte",
    "christian", "christina", "christoffer", "claus", "daniel", "david", "dorte", "dorthe",
    "egil", "einar", "eirik", "elin", "elisabeth", "ellen", "else", "emil", "emma", "erik",
    "erling", "eva", "finn", "flemming", "frederik", "fredrik", "freja", "geir", "gerd", "gitte",
    "grete", "grethe", "gunn", "gunnar", "hanne", "hans", "harald", "hege", "heidi", "helge",
    "helle", "henning", "henriette", "henrik", "ida", "inge", "inger", "ingrid", "ivar", "jacob",
    "jakob", "jan", "jane", "janne", "jens", "jeppe", "jesper", "jette", "joachim", "john", "jon",
    "jonas", "julie", "jørgen", "jørn", "karen", "kari", "karin", "karina", "karl", "katrine",
    "kenneth", "kent", "kim", "kirsten", "kirsti", "kjell", "kjersti", "klaus", "knud", "knut",
    "kristian", "kristin", "kristina", "kristoffer", "kurt", "lars", "lasse", "leif", "lene",
    "linda", "line", "lis", "lisbeth", "lise", "lone", "lotte", "louise", "mads", "magne",
    "magnus", "maja", "malene", "maren", "maria", "marianne", "marie", "marit", "marius",
    "markus", "martin", "mathias", "mette", "michael", "mikkel", "mogens", "mona", "monica",
    "morten", "nicolai", "niels", "nils", "nina", "ola", "olav", "ole", "oliver", "oskar", "otto",
    "peder", "per", "peter", "pia", "poul", "preben", "ragnhild", "randi", "rasmus", "rita",
    "roar", "robert", "rolf", "rune", "sander", "sanne", "sara", "simon", "sofia", "sofie",
    "solveig", "sonja", "steen", "stein", "sten", "stig", "stine", "susanne", "sven", "svend",
    "søren", "terje", "thomas", "thor", "tina", "tine", "tom", "tone", "tor", "torben", "tore",
    "torill", "tove", "trine", "trond", "ulla", "unni", "vibeke", "victoria", "vidar", "wenche",
    "åse", "øystein",
})  # fmt: skip
#: Common family names of both that end in another syllable than most.
_FAMILY: Final = frozenset({
    "aas", "bach", "bakke", "bakken", "bang", "beck", "berg", "berge", "bruun", "bråten", "dahl",
    "dam", "eide", "frost", "haugen", "hagen", "hansson", "hauge", "holm", "juul", "kjær", "koch",
    "krogh", "lie", "lund", "lunde", "lind", "martinussen", "moe", "moen", "myhre", "myklebust",
    "møller", "nguyen", "nygaard", "ruud", "schmidt", "skov", "solberg", "strand", "sunde", "toft",
    "thorsen", "vestergaard", "winther", "ødegård", "østergaard",
})  # fmt: skip
_FAMILY_ENDING: Final = "sen"
_MIN_WORDS, _MAX_WORDS = 2, 5


def is_private(name: str, number: str) -> bool:
    """Returns True if a record says that it is of a person."""
    return is_personal_number(number) or any(
        plain(text).casefold().strip("()") in _WORDS for text in (name, number)
    )


def may_be_person(name: str) -> bool:
    """Returns True for a given name before a family name, as `Anne Prøve Hansen`.

    Businesses have such names too, so this explains only why a record has no company.
    """
    words = plain(name).casefold().replace(".", "").split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS:
        return False
    first, last = words[0].partition("-")[0], words[-1]
    return first in _GIVEN and (last in _FAMILY or last.endswith(_FAMILY_ENDING))
