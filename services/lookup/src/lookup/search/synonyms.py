"""Equivalent spellings of words in names and addresses, each table with its source."""

from typing import Final

#: Abbreviations by the word that they stand for; several inflections of a word share one.
ABBREVIATIONS: Final = {
    # Parts of places.
    "gammel": ("gl", "gml", "gamle", "gamla"),
    "nørre": ("nr",),
    "nordre": ("ndr",),
    "søndre": ("sdr", "sønder"),
    "vestre": ("vestr",),
    "østre": ("østr",),
    "sankt": ("st", "skt", "sct"),
    "lille": ("ll",),
    "københavn": ("kbh",),
    "københavns": ("kbhs",),
    # Titles and first names.
    "doktor": ("dr",),
    "professor": ("prof",),
    "borgmester": ("borgm",),
    "kongens": ("kgs",),
    "kongelige": ("kgl",),
    "christian": ("chr",),
    "brødrene": ("brdr",),
    "efterfølger": ("eftf",),
    "advokat": ("adv",),
    "tømrermester": ("tømrerm", "tømrermstr"),
    "murermester": ("murerm", "murermstr"),
    "malermester": ("malerm", "malermstr"),
    # Kinds of organisations.
    "idrettslag": ("il", "idrettslaget", "idrl"),
    "idrettsforening": (
        "if", "idrettsforeningen", "idrettsforen", "idrætsforening", "idrætsforeningen",
    ),
    "borettslag": ("brl", "borettslaget", "borettsl"),
    "grundejerforeningen": ("grf", "grundejerf"),
    "ejerforeningen": ("ejerf", "ejerlejlighedsforeningen"),
    "videregående skole": ("vgs",),
    "barnehage": ("bhg", "barnehagen", "barneh"),
    "avdeling": ("avd",),
    "afdeling": ("afd",),
    "forening": ("foren",),
    "universitet": ("univ",),
    # Business.
    "company": ("co",),
    "international": ("intl",),
    "brothers": ("bros",),
    "entreprenør": ("entr", "entrepr"),
    "eiendom": ("eiend",),
    "ejendomme": ("ejd", "ejend"),
    "mekaniske": ("mek", "mekanisk"),
    "transport": ("transp",),
    "manufacturing": ("mfg",),
    "maskinfabrik": ("maskinfabr",),
}  # fmt: skip

#: The full word of each abbreviation.
FULL_WORD: Final = {
    short: full for full, abbreviations in ABBREVIATIONS.items() for short in abbreviations
}


#: Danish forms of association that precede a name and are abbreviated with a slash. Source: the
#: names in CVR, which has both spellings of each.
SLASHED: Final = {
    "a/b": "andelsboligforeningen",
    "e/f": "ejerforeningen",
    "g/f": "grundejerforeningen",
    "h/f": "haveforeningen",
    # The rest is the owner of a Danish trade name: `Solens Café v/ Anna Prøve`.
    "v/": "ved ",
}

#: Introduces the owner of a trade name.
OWNER_MARK: Final = "ved"

#: Connectors, which do not distinguish companies; `&` and `+` are no words anyway. Source: the
#: names in both registers, and their branches of foreign companies.
CONNECTORS: Final = frozenset({"og", "and", "und", "et"})

#: Equivalent words, abbreviations included.
SAME_WORD: Final = {
    **FULL_WORD,
    # Numbers up to twelve are written as words or digits; `en` is also an article.
    "to": "2",
    "tre": "3",
    "fire": "4",
    "fem": "5",
    "seks": "6",
    "syv": "7",
    "sju": "7",
    "otte": "8",
    "åtte": "8",
    "ni": "9",
    "ti": "10",
    "elleve": "11",
    "tolv": "12",
}

#: One abbreviation for each legal form with several spellings, by its letters. Source: the
#: lists of legal forms of both registers (organisasjonsformer, virksomhedsformer), and for foreign
#: companies their English names.
SAME_FORM: Final = {
    "aktieselskab": "as",
    "aktieselskabet": "as",
    "aksjeselskap": "as",
    "allmennaksjeselskap": "asa",
    "anpartsselskab": "aps",
    "anpartsselskabet": "aps",
    **dict.fromkeys(("iværksætterselskab", "ivaerksaetterselskab", "ivarksatterselskab"), "ivs"),
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

#: Generic words, as folded words: they distinguish companies in no register, however rare they are
#: in a small one. Source: the words of more than 4 in 1,000 names of a sample of either register,
#: except places, proper names and trades that a company may be called by alone.
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

#: Names of the registers' countries, by folded words.
COUNTRY_NAMES: Final = {
    "dk": frozenset({"danmark", "danmarks", "denmark"}),
    "no": frozenset({"norge", "norges", "noreg", "norway"}),
}
