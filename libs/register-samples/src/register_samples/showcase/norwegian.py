"""The Norwegian showcase.

Its numbers begin with 3, like those of the registers' own synthetic test data, so that none is
a real company's.
"""

from datetime import date

from register_samples.facts import (
    Abroad,
    Address,
    Company,
    Contact,
    Contacts,
    FormerName,
    Move,
    Owner,
    Person,
    Standing,
    State,
    Unit,
)
from register_samples.showcase.exhibit import Exhibit, Terms, electronic_address, main_unit
from register_samples.words.norwegian import NORWEGIAN

_TERMS = Terms.of(NORWEGIAN)
_FORM, _INDUSTRY, _PLACE = _TERMS.forms, _TERMS.industries, _TERMS.places

_KARI = Person("Kari", None, "Prøvesen", date(1970, 1, 1))
_OLA = Person("Ola", "Test", "Mønstersen", date(1970, 1, 1))

_HOUSE = Address("Prøveveien", _PLACE["0159"], house=12)

_FACTORY = Company(
    seed=0,
    index=0,
    number="310345679",
    name="PRØVEFABRIKKEN NORGE AS",
    form=_FORM["AS"],
    founded=date(2003, 4, 1),
    registered=date(2003, 4, 24),
    state=State(Standing.ACTIVE, None, date(2003, 4, 1)),
    address=_HOUSE,
    industries=(_INDUSTRY["62.010"], _INDUSTRY["62.020"]),
    employees=42,
    former_names=(FormerName("FJORDPRØVEN AS", date(2003, 4, 1), date(2011, 6, 14)),),
    postal=Address("", _PLACE["0158"], box="1444 Sentrum"),
    contacts=Contacts(
        phone=Contact("22 33 44 55"),
        email=Contact("post@proevefabrikken.example"),
        website=Contact("www.proevefabrikken.example"),
    ),
    capital=1_000_000,
    purpose="Utvikling og salg av programvare til offentlige og private kunder.",
)
_PARTNERSHIP = Company(
    seed=0,
    index=1,
    number="310345695",
    name="MØNSTERSEN & PRØVESEN ANS",
    form=_FORM["ANS"],
    founded=date(1999, 1, 15),
    registered=date(1999, 2, 1),
    state=State(Standing.ACTIVE, None, date(1999, 1, 15)),
    address=Address("Bryggegata", _PLACE["5003"], house=8, letter="A"),
    industries=(_INDUSTRY["69.100"],),
    employees=6,
    contacts=Contacts(phone=Contact("55667788")),
)
_CARPENTER = Company(
    seed=0,
    index=2,
    number="310345717",
    name="SNEKKER KARI PRØVESEN",
    form=_FORM["ENK"],
    founded=date(2014, 8, 1),
    registered=date(2014, 8, 11),
    state=State(Standing.ACTIVE, None, date(2014, 8, 1)),
    address=Address("Sagveien", _PLACE["7010"], house=3, co="Ola Mønstersen"),
    industries=(_INDUSTRY["43.320"],),
    employees=0,
    trader=_KARI,
    contacts=Contacts(mobile=Contact("412 34 567")),
)
_FISH = Company(
    seed=0,
    index=3,
    number="310345733",
    name="ÅLESUND TESTFISK AS",
    form=_FORM["AS"],
    founded=date(1991, 5, 20),
    registered=date(1995, 2, 19),
    state=State(Standing.ACTIVE, None, date(1991, 5, 20)),
    address=Address("Fiskerstien", _PLACE["6002"], house=21),
    industries=(_INDUSTRY["03.111"],),
    employees=118,
    contacts=Contacts(phone=Contact("+47 70 12 34 56"), email=Contact("post@testfisk.example")),
    capital=150_000,
)
_MUNICIPALITY = Company(
    seed=0,
    index=4,
    number="310345768",
    name="PRØVEHAVN KOMMUNE",
    form=_FORM["KOMM"],
    founded=date(1964, 1, 1),
    registered=date(1995, 3, 9),
    state=State(Standing.ACTIVE, None, date(1964, 1, 1)),
    address=Address("Torgplassen", _PLACE["8006"], house=1),
    industries=(_INDUSTRY["70.100"],),
    employees=2_310,
    contacts=Contacts(phone=Contact("75 00 00 01")),
)
_BAKERY = Company(
    seed=0,
    index=5,
    number="310345784",
    name="MØNSTERBAKERIET AS",
    form=_FORM["AS"],
    founded=date(2010, 10, 10),
    registered=date(2010, 10, 20),
    state=State(Standing.BANKRUPT, None, date(2026, 4, 8)),
    address=Address("Møllegata", _PLACE["4006"], house=55),
    industries=(_INDUSTRY["10.710"],),
    employees=9,
    contacts=Contacts(phone=Contact("51 00 00 02")),
    capital=30_000,
)
_BOATS = Company(
    seed=0,
    index=6,
    number="310345792",
    name="GAMLE PRØVEBÅT AS",
    form=_FORM["AS"],
    founded=date(2001, 3, 3),
    registered=date(2001, 3, 30),
    state=State(Standing.ENDED, None, date(2023, 11, 27)),
    address=Address("Skippergata", _PLACE["4836"], house=2),
    industries=(_INDUSTRY["33.120"],),
    employees=0,
    capital=100_000,
)
_SERVICE = Company(
    seed=0,
    index=7,
    number="310345806",
    name="PRØVEFABRIKKEN SERVICE AS",
    form=_FORM["AS"],
    founded=date(2019, 6, 1),
    registered=date(2019, 6, 12),
    state=State(Standing.ACTIVE, None, date(2019, 6, 1)),
    address=_HOUSE,
    industries=(_INDUSTRY["81.101"],),
    employees=3,
    capital=30_000,
)
_SPORTS = Company(
    seed=0,
    index=8,
    number="310345814",
    name="PRØVEVIK IDRETTSLAG",
    form=_FORM["FLI"],
    founded=date(1921, 9, 1),
    registered=date(1996, 1, 5),
    state=State(Standing.ACTIVE, None, date(1921, 9, 1)),
    address=Address("Bjørkestien", _PLACE["2815"], house=4, co="Ola Mønstersen"),
    industries=(_INDUSTRY["93.120"],),
    employees=0,
)
_FOREIGN = Company(
    seed=0,
    index=9,
    number="310345830",
    name="NORDLYS TRADING LTD",
    form=_FORM["NUF"],
    founded=date(2018, 1, 8),
    registered=date(2018, 3, 1),
    state=State(Standing.ACTIVE, None, date(2018, 1, 8)),
    address=Abroad(("Unit 4", "Mill Lane 12"), "ABERDEEN AB11 6EQ", "GB"),
    industries=(_INDUSTRY["46.900"],),
    employees=0,
)


_TRONDHEIM = Unit(
    number="310345709",
    name="PRØVEFABRIKKEN NORGE AS AVD TRONDHEIM",
    address=Address("Elvegata", _PLACE["7011"], house=9),
    industry=_INDUSTRY["62.020"],
    employees=11,
    started=date(2012, 1, 1),
    contacts=Contacts(phone=Contact("73 00 00 03")),
)
_QUAY = Unit(
    number="310345822",
    name="TESTFISK MOTTAK",
    address=Address("Havneveien", _PLACE["6090"], house=6),
    industry=_INDUSTRY["03.111"],
    employees=24,
    started=date(2002, 4, 1),
    moved=Move(_BOATS.number, date(2015, 7, 1)),
)
_OLD_QUAY = Unit(
    number="310345849",
    name="TESTFISK GAMLE MOTTAK",
    address=Address("Havneveien", _PLACE["6090"], house=4),
    industry=_INDUSTRY["03.111"],
    employees=0,
    started=date(1995, 1, 1),
    ended=date(2015, 6, 30),
)

NORWEGIAN_EXHIBITS = (
    Exhibit(
        _FACTORY,
        units=(main_unit(_FACTORY, "310345687"), _TRONDHEIM),
        identifiers=(electronic_address("0192", _FACTORY.number),),
    ),
    Exhibit(
        _PARTNERSHIP,
        units=(main_unit(_PARTNERSHIP, "310345725"),),
        owners=(
            Owner(_OLA, _PARTNERSHIP.founded),
            Owner(_KARI, _PARTNERSHIP.founded),
            Owner(_FACTORY.corporate, date(2012, 5, 5)),
        ),
        identifiers=(electronic_address("0192", _PARTNERSHIP.number),),
    ),
    Exhibit(
        _CARPENTER,
        units=(main_unit(_CARPENTER, "310345741"),),
        owners=(Owner(_KARI, _CARPENTER.founded),),
    ),
    Exhibit(_FISH, units=(main_unit(_FISH, "310345776"), _QUAY, _OLD_QUAY)),
    Exhibit(
        _MUNICIPALITY,
        units=(main_unit(_MUNICIPALITY, "310345857"),),
        identifiers=(
            electronic_address("0088", "7080000000166"),
            electronic_address("0192", _MUNICIPALITY.number),
        ),
    ),
    Exhibit(_BAKERY, units=(main_unit(_BAKERY, "310345865"),)),
    Exhibit(_BOATS, units=(main_unit(_BOATS, "310345873"),), departed=(_QUAY,)),
    Exhibit(_SERVICE, units=(main_unit(_SERVICE, "310345881"),)),
    Exhibit(_SPORTS),
    Exhibit(_FOREIGN),
)
