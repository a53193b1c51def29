"""Names that mean nothing, and the words of companies from abroad; for both countries."""

from register_samples.facts import Abroad
from register_samples.words.lexicon import lines, words

STARTS = words("""
Al Ar Ax Bal Ber Bri Ca Cel Cor Da Del Do El Em Er Fa Fi Fol Ga Gen Gra Ha Hel Hy Il In Ja Jo Ka
Kin Kor La Lin Lu Ma Mel Mi Mon Na Nex No Ny O Or Pa Per Pri Qua Ra Ren Ro Sa Sen Si Sol Ta Tel Ti
Tri Ul Un Va Vel Vi Vo Wa Xe Ya Ze Zo
""")
MIDDLES = words("""
ba be bi bo ca ce ci co da de di do fa fe fi ga ge go ka ke ki la le li lo lu ma me mi mo na ne ni
no pa pe po ra re ri ro sa se si so ta te ti to tri va ve vi xa ze
""")
ENDS = words("""
ba co com da dan dia don fin fix gen go ka kon la lia lix lo lon ma mar mia min na net nia nor
nova on pex pla pro ra ria rio ron sa sis sol son sys ta tec tek tia tis tor tra tus va via vin vo
xa xis xo zen
""")
LETTERS = "ABCDEFGHIJKLMNOPRSTUVWY"

FOREIGN_TRADES = words("""
Trading Shipping Logistics Consulting Engineering Systems Software Marine Energy Foods Textiles
Pharma Offshore Construction Services Capital Holdings Ventures Components Instruments Aviation
Timber Steel Plastics Packaging Chemicals Media Studios Publishing Robotics Analytics Solar
""")

#: Legal endings by country of origin.
FOREIGN_SUFFIXES = {
    "SE": ("AB", "HB", "Aktiebolag"),
    "GB": ("LTD", "LIMITED", "PLC", "LLP"),
    "DE": ("GMBH", "AG", "GmbH & Co. KG"),
    "PL": ("SP. Z O.O.", "S.A."),
    "FI": ("OY", "OYJ"),
    "NL": ("B.V.", "N.V."),
    "LT": ("UAB",),
    "LV": ("SIA",),
    "EE": ("OÜ",),
    "FR": ("SARL", "S.A.S."),
    "US": ("INC", "LLC", "CORP"),
}

#: Towns abroad as the registers write them, with the country.
FOREIGN_TOWNS = tuple(
    Abroad((), town, country)
    for country, _, town in (
        line.partition(" ")
        for line in lines("""
            SE SE-111 20 STOCKHOLM
            SE SE-411 05 GÖTEBORG
            SE 211 22 MALMÖ
            SE SE-753 10 UPPSALA
            SE SE-652 24 KARLSTAD
            GB LONDON EC2A 2BB
            GB MANCHESTER M1 4BT
            GB ABERDEEN AB11 6EQ
            GB GB- EDINBURGH EH3 9DR
            DE 20095 HAMBURG
            DE DE-10115 BERLIN
            DE 24937 FLENSBURG
            PL 80-244 GDANSK
            PL 00-950 WARSZAWA
            FI FI-00100 HELSINKI
            FI 20100 TURKU
            NL 1012 AB AMSTERDAM
            NL NL-3011 ROTTERDAM
            LT LT-01103 VILNIUS
            LV LV-1010 RIGA
            EE 10111 TALLINN
            FR 75008 PARIS
            US NEW YORK NY 10018
            US HOUSTON TX 77002
        """)
    )
)

FOREIGN_STREETS = words("""
High_Street Station_Road Mill_Lane Harbour_Road Storgatan Kungsgatan Hamngatan Industrivägen
Hauptstrasse Bahnhofstrasse Hafenstrasse Ul._Dluga Ul._Lipowa Kauppakatu Mannerheimintie
Keizersgracht Gedimino_pr. Brivibas_iela Narva_mnt Rue_du_Port Market_Street Main_Street
""")
