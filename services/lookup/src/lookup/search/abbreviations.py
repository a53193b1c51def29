"""Abbreviations of words in names and addresses, one table for both.

Sources: Retskrivningsordbogen (Dansk Sprognævn) and Språkrådet's list of abbreviations, the
abbreviations of DAWA for Danish streets, and the names of clubs, schools and housing cooperatives
in both registers.
"""

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
