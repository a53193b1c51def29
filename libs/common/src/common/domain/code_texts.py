"""Codes in words, written for this service: industries, legal forms, statuses and roles.

The registers' own texts of industries and legal forms are those of the stored companies. English
texts of industries are of divisions, the first two digits, whose words fit each revision of NACE
that codes of the registers follow; a class may have another meaning in another revision.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from common.domain.countries import Country


class Division(NamedTuple):
    """A division of industries in English, and further words that people search it by."""

    text: str
    keywords: str


#: By the first two digits of a code.
DIVISIONS: Final[Mapping[str, Division]] = {
    code: Division(*words)
    for code, words in {
        "01": ("Crop and animal production", "farming, agriculture, crops, livestock, hunting"),
        "02": ("Forestry and logging", "timber"),
        "03": ("Fishing and aquaculture", "fish farming, fishery"),
        "05": ("Mining of coal", ""),
        "06": ("Extraction of oil and gas", "petroleum"),
        "07": ("Mining of metal ores", ""),
        "08": ("Quarrying and other mining", ""),
        "09": ("Support of mining and extraction", ""),
        "10": ("Food products", "food, bakery, meat, dairy"),
        "11": ("Beverages", "brewery, drinks, wine"),
        "12": ("Tobacco products", ""),
        "13": ("Textiles", "textile, fabric"),
        "14": ("Clothing", "clothes, fashion"),
        "15": ("Leather and footwear", "shoes"),
        "16": ("Wood and wood products", "timber, sawmill"),
        "17": ("Paper and paper products", ""),
        "18": ("Printing and recorded media", "printing"),
        "19": ("Refined petroleum", ""),
        "20": ("Chemicals", "chemical"),
        "21": ("Pharmaceuticals", "pharmaceutical, medicine, drugs"),
        "22": ("Rubber and plastic products", ""),
        "23": ("Glass, ceramics and concrete", ""),
        "24": ("Basic metals", ""),
        "25": ("Metal products", "metal, welding, machining"),
        "26": ("Computers, electronics and optics", "hardware, computer"),
        "27": ("Electrical equipment", ""),
        "28": ("Machinery", ""),
        "29": ("Motor vehicles and trailers", "cars"),
        "30": ("Ships, aircraft and other vehicles", "shipyard, shipbuilding"),
        "31": ("Furniture", "furniture"),
        "32": ("Other manufacturing", "jewellery, medical devices"),
        "33": ("Repair and installation of machinery", ""),
        "35": ("Electricity, gas and heating", "power, energy, gas supply"),
        "36": ("Water supply", ""),
        "37": ("Sewerage", ""),
        "38": ("Waste collection and recovery", "recycling, waste"),
        "39": ("Remediation of soil and water", ""),
        "41": ("Construction of buildings", "building, construction, developer"),
        "42": ("Civil engineering", "roads, construction"),
        "43": (
            "Specialised construction",
            "plumbing, electrician, carpentry, painting, construction, craftsmen",
        ),
        "45": ("Trade and repair of motor vehicles", "car dealer, garage, cars"),
        "46": ("Wholesale trade", "wholesale, trading"),
        "47": ("Retail trade", "shop, store, supermarket, retail, e-commerce"),
        "49": ("Land transport and pipelines", "taxi, trucking, freight, road transport, railway"),
        "50": ("Water transport", "shipping, ferry"),
        "51": ("Air transport", "airline, aviation"),
        "52": ("Warehousing and support of transport", "logistics, warehouse, port"),
        "53": ("Postal and courier services", "post, courier, parcel"),
        "55": ("Accommodation", "hotel, camping"),
        "56": ("Restaurants and catering", "restaurant, café, cafe, bar, catering, pub"),
        "58": ("Publishing", "publisher, newspaper, books"),
        "59": ("Film, television and music production", "film, video, music"),
        "60": ("Broadcasting", "radio, television"),
        "61": ("Telecommunications", "telecom, telephone, internet"),
        "62": (
            "Computer programming and consultancy",
            "IT, software, software development, programming, information technology, computer",
        ),
        "63": (
            "Information services and data processing",
            "hosting, data processing, web portal, news agency",
        ),
        "64": ("Financial services and holding companies", "bank, banking, finance, holding, fund"),
        "65": ("Insurance and pension funding", "insurance, pension"),
        "66": ("Support of finance and insurance", "broker, fund management"),
        "68": ("Real estate", "real estate, property, housing"),
        "69": ("Legal and accounting services", "lawyer, law, accounting, accountant, audit, tax"),
        "70": (
            "Head offices and management consultancy",
            "management consulting, consultant, consultancy, public relations",
        ),
        "71": ("Architecture and engineering", "architect, engineer, engineering, testing"),
        "72": ("Research and development", "research, science"),
        "73": ("Advertising and market research", "advertising, marketing, market research"),
        "74": ("Other professional services", "design, photography, translation"),
        "75": ("Veterinary services", "vet, veterinarian"),
        "77": ("Rental and leasing", "rental, leasing, car rental"),
        "78": ("Employment agencies", "recruitment, staffing, temporary workers"),
        "79": ("Travel agencies", "travel, tour operator"),
        "80": ("Security and investigation", "security, guard"),
        "81": (
            "Services to buildings and landscaping",
            "cleaning, facility, landscaping, gardening",
        ),
        "82": ("Office and business support", "call centre, office support"),
        "84": ("Public administration", "government, defence"),
        "85": ("Education", "school, education, training, driving school"),
        "86": ("Health care", "hospital, doctor, dentist, health, physiotherapy"),
        "87": ("Residential care", "nursing home, care home"),
        "88": ("Social work", "kindergarten, day care, social work"),
        "90": ("Arts and performance", "artist, theatre, music"),
        "91": ("Libraries and museums", "museum, library, zoo"),
        "92": ("Gambling and betting", "casino, betting, gambling"),
        "93": ("Sports and recreation", "gym, fitness, sport, sports"),
        "94": ("Membership organisations", "association, trade union, church"),
        "95": ("Repair of computers and household goods", "repair"),
        "96": ("Personal services", "hairdresser, beauty, laundry, funeral"),
        "97": ("Private households as employers", ""),
        "98": ("Private households' own production", ""),
        "99": ("International organisations", ""),
    }.items()
}

#: Legal forms in English, by the codes of each register.
FORMS: Final[Mapping[Country, Mapping[str, str]]] = {
    Country.DK: {
        "10": "Sole proprietorship",
        "15": "Small sole proprietorship",
        "20": "Estate of a deceased person",
        "30": "General partnership",
        "40": "Limited partnership",
        "50": "Shipping partnership",
        "60": "Public limited company",
        "70": "Partnership limited by shares",
        "80": "Private limited company",
        "81": "Entrepreneurial company",
        "90": "Commercial foundation",
        "100": "European economic interest grouping",
        "110": "Association",
        "115": "Voluntary association",
        "130": "Cooperative",
        "140": "Cooperative with limited liability",
        "151": "Company with limited liability",
        "152": "Association with limited liability",
        "170": "Branch of a foreign company",
        "230": "State authority",
        "245": "Regional authority",
        "250": "Municipal authority",
        "290": "European company",
    },
    Country.NO: {
        "ANS": "General partnership with joint liability",
        "AS": "Private limited company",
        "ASA": "Public limited company",
        "BA": "Company with limited liability",
        "BBL": "Cooperative building association",
        "BRL": "Housing cooperative",
        "DA": "General partnership with shared liability",
        "ENK": "Sole proprietorship",
        "ESEK": "Condominium",
        "FKF": "County enterprise",
        "FLI": "Association",
        "FYLK": "County",
        "IKS": "Intermunicipal company",
        "KBO": "Bankruptcy estate",
        "KF": "Municipal enterprise",
        "KIRK": "Church of Norway",
        "KOMM": "Municipality",
        "KS": "Limited partnership",
        "NUF": "Branch of a foreign company",
        "ORGL": "Part of a public body",
        "PK": "Pension fund",
        "PRE": "Shipping partnership",
        "SA": "Cooperative",
        "SAM": "Jointly owned property",
        "SE": "European company",
        "SF": "State enterprise",
        "SPA": "Savings bank",
        "STAT": "State",
        "STI": "Foundation",
        "UTLA": "Foreign company",
    },
}


class Words(NamedTuple):
    """A code in Danish, Norwegian and English."""

    dk: str
    no: str
    en: str

    def of(self, country: Country) -> str:
        """Returns the text in the language of a register."""
        return self.dk if country is Country.DK else self.no


STATUSES: Final[Mapping[str, Words]] = {
    "active": Words("Aktiv", "Aktiv", "Active"),
    "under_liquidation": Words("Under likvidation", "Under avvikling", "Under liquidation"),
    "under_reconstruction": Words(
        "Under rekonstruktion", "Under rekonstruksjon", "Under reconstruction"
    ),
    "bankrupt": Words("Under konkurs", "Konkurs", "Bankrupt"),
    "ended": Words("Ophørt", "Opphørt", "Ended"),
}

#: Of owners, then of others.
ROLES: Final[Mapping[str, Words]] = {
    "owner": Words("Ejer", "Eier", "Owner"),
    "partner": Words("Interessent", "Deltaker", "Partner"),
    "general_partner": Words("Komplementar", "Komplementar", "General partner"),
    "sole_proprietor": Words("Fuldt ansvarlig deltager", "Innehaver", "Sole proprietor"),
    "co_owner": Words("Medejer", "Sameier", "Co-owner"),
    "parent_company": Words("Moderselskab", "Morselskap", "Parent company"),
    "shareholder": Words("Kapitalejer", "Aksjonær", "Shareholder"),
    "director": Words("Direktør", "Daglig leder", "Managing director"),
    "board_chair": Words("Bestyrelsesformand", "Styrets leder", "Chair of the board"),
    "board_deputy_chair": Words(
        "Næstformand for bestyrelsen", "Nestleder", "Deputy chair of the board"
    ),
    "board_member": Words("Bestyrelsesmedlem", "Styremedlem", "Board member"),
    "board_deputy_member": Words(
        "Bestyrelsessuppleant", "Varamedlem", "Deputy member of the board"
    ),
    "board_observer": Words("Observatør i bestyrelsen", "Observatør", "Observer of the board"),
    "auditor": Words("Revisor", "Revisor", "Auditor"),
    "accountant": Words("Bogholder", "Regnskapsfører", "Accountant"),
    "signatory": Words("Tegningsberettiget", "Signatur", "Signatory"),
    "procuration_holder": Words("Prokurist", "Prokura", "Holder of procuration"),
    "branch_manager": Words("Filialbestyrer", "Leder av filial", "Manager of a branch"),
    "supervisory_board_member": Words(
        "Medlem af tilsynsrådet", "Medlem av bedriftsforsamlingen", "Supervisory board member"
    ),
    "sustainability_auditor": Words(
        "Bæredygtighedsrevisor", "Bærekraftrevisor", "Sustainability auditor"
    ),
    "estate_administrator": Words("Kurator", "Bostyrer", "Administrator of a bankruptcy estate"),
    "liquidator": Words("Likvidator", "Avviklingsstyre", "Liquidator"),
    "other": Words("Andet", "Annet", "Other"),
}
