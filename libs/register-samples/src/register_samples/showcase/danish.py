"""The Danish showcase; all its numbers are below those of the companies that are drawn."""

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
from register_samples.words.danish import DANISH

_TERMS = Terms.of(DANISH)
_FORM, _INDUSTRY, _PLACE = _TERMS.forms, _TERMS.industries, _TERMS.places

_ANNA = Person("Anna", None, "Testesen", date(1970, 1, 1))
_BO = Person("Bo", None, "Mønstersen", date(1970, 1, 1))
_CARLA = Person("Carla", "Prøve", "Eksempelsen", date(1970, 1, 1))

_HOUSE = Address("Prøvevej", _PLACE["1112"], house=43)

_FACTORY = Company(
    seed=0,
    index=0,
    number="12345674",
    name="Prøvefabrikken ApS",
    form=_FORM["APS"],
    founded=date(1999, 11, 15),
    registered=date(1999, 11, 15),
    state=State(Standing.ACTIVE, "NORMAL", date(1999, 11, 15)),
    address=_HOUSE._replace(floor="3"),
    industries=(_INDUSTRY["620100"],),
    employees=23,
    former_names=(FormerName("ApS KBIL 17 NR. 0000", date(1999, 11, 15), date(2000, 2, 20)),),
    trade_names=("Prøven",),
    contacts=Contacts(phone=Contact("12345678"), email=Contact("post@proeven.example")),
    capital=125_000,
    protected=True,
)
_HOLDING = Company(
    seed=0,
    index=1,
    number="12345682",
    name="Prøvefabrikken Holding ApS",
    form=_FORM["APS"],
    founded=date(1998, 3, 2),
    registered=date(1998, 3, 2),
    state=State(Standing.ACTIVE, "NORMAL", date(1998, 3, 2)),
    address=_HOUSE._replace(floor="3"),
    industries=(_INDUSTRY["642020"],),
    employees=0,
    capital=200_000,
)
_CARPENTER = Company(
    seed=0,
    index=2,
    number="12345690",
    name="Snedkeriet v/Bo Mønstersen",
    form=_FORM["ENK"],
    founded=date(2011, 5, 1),
    registered=date(2011, 5, 1),
    state=State(Standing.ACTIVE, None, date(2011, 5, 1)),
    address=Address("Gammel Savvej", _PLACE["8600"], house=7, letter="B", co="Anna Testesen"),
    industries=(_INDUSTRY["433200"],),
    employees=1,
    trader=_BO,
    contacts=Contacts(
        phone=Contact("23456789", secret=True), website=Contact("www.snedkeriet.example")
    ),
)
_PARTNERSHIP = Company(
    seed=0,
    index=3,
    number="12345704",
    name="Testesen & Eksempelsen I/S",
    form=_FORM["I/S"],
    founded=date(2005, 9, 1),
    registered=date(2005, 9, 1),
    state=State(Standing.ACTIVE, None, date(2005, 9, 1)),
    address=Address("Østergade", _PLACE["5000"], house=43, floor="2", door="tv"),
    industries=(_INDUSTRY["691000"], _INDUSTRY["702200"]),
    employees=4,
    contacts=Contacts(phone=Contact("34 56 78 90"), fax=Contact("34567899")),
)
_FERRY = Company(
    seed=0,
    index=4,
    number="12345712",
    name="Ærø Prøvefærge A/S",
    form=_FORM["A/S"],
    founded=date(1985, 6, 5),
    registered=date(1985, 6, 5),
    state=State(Standing.ACTIVE, "NORMAL", date(1985, 6, 5)),
    address=Address("Havnegade", _PLACE["5700"], house=1, district="Rantzausminde"),
    industries=(_INDUSTRY["494100"],),
    employees=137,
    postal=Address("", _PLACE["5700"], box="120"),
    contacts=Contacts(phone=Contact("45678901"), email=Contact("post@proevefaerge.example")),
    capital=5_000_000,
    purpose="Selskabets formål er at sejle prøveture og hermed beslægtet virksomhed.",
)
_BREWERY = Company(
    seed=0,
    index=5,
    number="12345720",
    name="ØRESUND PRØVEBRYGGERI A/S",
    form=_FORM["A/S"],
    founded=date(2008, 2, 29),
    registered=date(2008, 3, 3),
    state=State(Standing.BANKRUPT, "UNDER KONKURS", date(2026, 3, 16)),
    address=Address("Strandvejen", _PLACE["3000"], house=200),
    industries=(_INDUSTRY["463900"],),
    employees=12,
    contacts=Contacts(phone=Contact("56789012")),
    capital=500_000,
)
_CAFE = Company(
    seed=0,
    index=6,
    number="12345739",
    name="Café Mønster ApS",
    form=_FORM["APS"],
    founded=date(2012, 4, 10),
    registered=date(2012, 4, 10),
    state=State(Standing.ENDED, "TVANGSOPLØST", date(2019, 8, 30)),
    address=Address("Allégade", _PLACE["2000"], house=10, floor="st"),
    industries=(_INDUSTRY["561010"],),
    employees=0,
    former_names=(FormerName("Prøvecaféen ApS", date(2012, 4, 10), date(2014, 12, 31)),),
    capital=80_000,
)
_MUNICIPALITY = Company(
    seed=0,
    index=7,
    number="12345747",
    name="Prøvekøbing Kommune",
    form=_FORM["KOM"],
    founded=date(2007, 1, 1),
    registered=date(2007, 1, 1),
    state=State(Standing.ACTIVE, "NORMAL", date(2007, 1, 1)),
    address=Address("Rådhuspladsen", _PLACE["0800"], house=1),
    industries=(_INDUSTRY["980000"],),
    employees=4_200,
    contacts=Contacts(phone=Contact("67890123"), email=Contact("kommunen@proevekoebing.example")),
)
_OFFICES = Company(
    seed=0,
    index=8,
    number="12345755",
    name="Kontorhotellet Prøvevej ApS",
    form=_FORM["APS"],
    founded=date(2016, 10, 1),
    registered=date(2016, 10, 1),
    state=State(Standing.ACTIVE, "NORMAL", date(2016, 10, 1)),
    address=_HOUSE._replace(floor="1", door="th"),
    industries=(_INDUSTRY["682040"],),
    employees=2,
    capital=50_000,
)
_FOREIGN = Company(
    seed=0,
    index=9,
    number="12345763",
    name="Nordlys Trading Ltd",
    form=_FORM["UDL"],
    founded=date(2018, 1, 8),
    registered=date(2018, 1, 8),
    state=State(Standing.ACTIVE, "NORMAL", date(2018, 1, 8)),
    address=Abroad(("Unit 4", "Mill Lane 12"), "ABERDEEN AB11 6EQ", "GB"),
    industries=(_INDUSTRY["463900"],),
    employees=0,
)


_JETTY = Unit(
    number="1012345727",
    name="Prøvebryggeriets Færgekro",
    address=Address("Havnegade", _PLACE["5700"], house=3),
    industry=_INDUSTRY["561010"],
    employees=6,
    started=date(2010, 5, 1),
    contacts=Contacts(phone=Contact("45678902")),
    moved=Move(_BREWERY.number, date(2021, 1, 1)),
)
_SCHOOL = Unit(
    number="1012345778",
    name="Prøvekøbing Skole",
    address=Address("Skolevej", _PLACE["0800"], house=2),
    industry=_INDUSTRY["855900"],
    employees=61,
    started=date(2007, 1, 1),
)
_BRANCH = Unit(
    number="1012345689",
    name="Prøvefabrikken Aarhus",
    address=Address("Åboulevarden", _PLACE["8000"], house=12, letter="A", floor="2", door="tv"),
    industry=_INDUSTRY["620200"],
    employees=7,
    started=date(2014, 8, 7),
    contacts=Contacts(phone=Contact("12345679"), email=Contact("aarhus@proeven.example")),
)
_CLOSED_BRANCH = Unit(
    number="1012345697",
    name="Prøvefabrikken Odense",
    address=Address("Vestergade", _PLACE["5000"], house=5),
    industry=_INDUSTRY["620200"],
    employees=0,
    started=date(2006, 1, 1),
    ended=date(2013, 6, 30),
)

DANISH_EXHIBITS = (
    Exhibit(
        _FACTORY,
        units=(main_unit(_FACTORY, "1012345670"), _BRANCH, _CLOSED_BRANCH),
        owners=(
            Owner(_BO, date(1999, 11, 15), "0.25", "0.25", until=date(2009, 12, 31)),
            Owner(_HOLDING.corporate, date(1999, 11, 15), "0.6667", "0.6667"),
            Owner(_CARLA, date(2010, 1, 1), "0.1", "0.05"),
        ),
        identifiers=(
            electronic_address("0184", f"DK{_FACTORY.number}"),
            electronic_address("0088", "5790000000005"),
        ),
    ),
    Exhibit(
        _HOLDING,
        units=(main_unit(_HOLDING, "1012345700"),),
        owners=(Owner(_ANNA, date(1998, 3, 2), "1.0", "1.0"),),
    ),
    Exhibit(
        _CARPENTER,
        units=(main_unit(_CARPENTER, "1012345719"),),
        owners=(Owner(_BO, _CARPENTER.founded),),
        identifiers=(electronic_address("0096", "1012345719"),),
    ),
    Exhibit(
        _PARTNERSHIP,
        units=(main_unit(_PARTNERSHIP, "1012345735"),),
        owners=(Owner(_ANNA, _PARTNERSHIP.founded), Owner(_CARLA, _PARTNERSHIP.founded)),
    ),
    Exhibit(
        _FERRY,
        units=(main_unit(_FERRY, "1012345743"), _JETTY),
        owners=(Owner(_HOLDING.corporate, date(2001, 7, 1), "0.9", "0.9"),),
        identifiers=(electronic_address("0184", _FERRY.number),),
    ),
    Exhibit(
        _BREWERY,
        units=(main_unit(_BREWERY, "1012345751"),),
        departed=(_JETTY,),
        owners=(
            Owner(_BO, _BREWERY.founded, "0.5", "0.6667"),
            Owner(_CARLA, _BREWERY.founded, "0.5", "0.3333"),
        ),
    ),
    Exhibit(_CAFE, units=(main_unit(_CAFE, "1012345786"),)),
    Exhibit(
        _MUNICIPALITY,
        units=(main_unit(_MUNICIPALITY, "1012345794"), _SCHOOL),
        identifiers=(
            electronic_address("0088", "5790000000289"),
            electronic_address("0184", f"DK{_MUNICIPALITY.number}"),
            electronic_address("0096", _SCHOOL.number),
        ),
    ),
    Exhibit(
        _OFFICES,
        units=(main_unit(_OFFICES, "1012345808"),),
        owners=(Owner(_HOLDING.corporate, _OFFICES.founded, "1.0", "1.0"),),
    ),
    Exhibit(_FOREIGN),
)
