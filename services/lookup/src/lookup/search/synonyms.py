"""Spellings that mean the same in company names, each table with its source."""

from typing import Final

#: Danish forms of association that stand before a name and are abbreviated with a slash.
#: Source: the names in CVR, which has both spellings of each.
SLASHED: Final = {
    "a/b": "andelsboligforeningen",
    "e/f": "ejerforeningen",
    "g/f": "grundejerforeningen",
    "h/f": "haveforeningen",
    # What follows is the owner of a Danish trade name: `Solens Café v/ Anna Prøve`.
    "v/": "ved ",
}

#: Where a name goes on with its owner.
OWNER_MARK: Final = "ved"

#: Words between others that tell no company from another; `&` and `+` are parted from words anyhow.
#: Source: the names in both registers, and their branches of foreign companies.
CONNECTORS: Final = frozenset({"og", "and", "und", "et"})

#: One word for another. Source: Retskrivningsordbogen (Dansk Sprognævn) for `kgl.`, `sct.`, `skt.`,
#: `brdr.` and `eftf.`; the English ones are those of international groups in both registers.
SAME_WORD: Final = {
    "kgl": "kongelige",
    "sct": "sankt",
    "skt": "sankt",
    "brdr": "brødrene",
    "eftf": "efterfølger",
    "ejerlejlighedsforeningen": "ejerforeningen",
    "co": "company",
    "intl": "international",
    "bros": "brothers",
}

#: One abbreviation for each legal form that is written in several ways, by folded words together.
#: Source: the lists of legal forms of both registers (organisasjonsformer, virksomhedsformer), and
#: for foreign companies their English names.
SAME_FORM: Final = {
    "aktieselskab": "as",
    "aktieselskabet": "as",
    "aksjeselskap": "as",
    "allmennaksjeselskap": "asa",
    "anpartsselskab": "aps",
    "anpartsselskabet": "aps",
    "iværksætterselskab": "ivs",
    "interessentskab": "is",
    "interessentskabet": "is",
    "kommanditselskab": "ks",
    "kommanditselskabet": "ks",
    "kommandittselskap": "ks",
    "partnerselskab": "ps",
    "enkeltpersonforetak": "enk",
    "samvirkeforetak": "sa",
    "ansvarligselskap": "ans",
    "limited": "ltd",
}

#: Words that tell one company from another in no register, however few of a small one have them,
#: as folded words. Source: those that more than 4 in 1,000 names of a sample of either register
#: have, but for places, proper names and trades that a company may be called by alone.
GENERIC: Final = frozenset({
    "holding", "invest", "group", "gruppen", "nordic", "nordisk", "scandinavia", "dansk",
    "danske", "norsk", "norske", "danmark", "danmarks", "denmark", "norge", "norges", "norway",
    "noreg", "international", "global", "europe", "services", "service", "consulting",
    "solutions", "systems", "technology", "technologies", "management", "partners", "capital",
    "trading", "company", "energy", "engineering", "electronics", "bygg", "byg", "transport",
    "eiendom", "ejendomme", "ejendom", "foreningen", "forening", "fonden", "fond", "institut",
    "universitet", "skole", "school", "center", "centre", "senter", "design", "entreprenor",
    "import", "export", "handel",
})  # fmt: skip

#: The countries of the registers as people write them, by folded words.
COUNTRY_NAMES: Final = {
    "dk": frozenset({"danmark", "danmarks", "denmark"}),
    "no": frozenset({"norge", "norges", "noreg", "norway"}),
}
