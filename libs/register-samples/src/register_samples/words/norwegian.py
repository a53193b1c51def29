"""Norwegian words that invented names, addresses and trades are made of."""

from register_samples.chance import urn
from register_samples.facts import Form, Naming
from register_samples.words.lexicon import Lexicon, compounds, industries, lines, words
from register_samples.words.norwegian_places import PLACES

_GIVEN = words("""
Anne Inger Kari Marit Ingrid Liv Eva Berit Astrid Bjørg Hilde Anna Solveig Marianne Randi Ida Nina
Maria Elisabeth Kristin Bente Heidi Silje Hanne Linda Tone Gerd Tove Ragnhild Wenche Åse Camilla
Julie Grete Unni Sigrid Emma Ellen Karin Turid Mona Elin Laila Siri Sara Trine Monica Else Merete
Thea Nora Malin Hege Stine Mari Sissel Lise Jorunn Aud Line Ruth Frida Gunn Helene Mette Ellinor
Maja Synnøve Anita Britt Emilie Irene Vilde Amalie Tuva Ingunn Oda Sofie Janne Live Selma Ylva Jan
Per Bjørn Ole Lars Kjell Knut Svein Arne Thomas Hans Geir Tor Morten Terje Odd Erik Martin Andreas
John Anders Rune Trond Tore Daniel Jon Kristian Olav Marius Magnus Stian Rolf Leif Harald Øyvind
Espen Tom Alexander Nils Gunnar Einar Eirik Helge Jonas Henrik Håkon Vidar Sverre Kåre Frode
Kristoffer Stig Johan Magne Øystein Ivar Roger Sondre Dag Håvard Tobias Karl Egil Ove Steinar
Sigurd Emil Jørgen Vegard Simen Christian Roy Kenneth Alf Arild Mathias Oskar Trygve Ketil Jostein
Torbjørn Asbjørn Åge Finn Pål Petter Sindre Erlend Eivind Aksel Iver Ulrik Birger Amir Ali Omar
Fatima Aisha Yusuf Nadia Samir Leila Hassan Anh Minh Piotr Agnieszka Tomasz Katarzyna André René
""")

_FAMILY_STARTS = words("""
Nord Sør Øst Vest Berg Fjell Dal Li Lund Haug Hol Bjørk Asp Eik Ros Sol Sand Stein Strand Sund Vik
Elve Foss Ås Mo Myr Eng Åker Bakk Brekk Brat Grøn Hvit Svart Lang Brei Høg Kirke Kross Korn Rug
Hav Hest Ulv Rev Ørne Hauk Falk Svan Laks Tors Odd Arn Gud Hall Ing Kol Ket Sig Stig Thor Ulf Vig
Yst Skog Skar Skjold Skei Tveit Tuft Tjøn Vass Vold Veg Kvern Kvam Kle Klep Kjel Hel Hegg Gjer
Gran Fure Fag Eid Egge Drag Dyr Bru Brun Blå Bek Aur Aune Alm Birke Bore Dok Finn Flat Fugl Gaus
Grim Hamn Hatt Heng Herre Hov Hus Hval Humle Jern Kalv Kamp Klov Kvit Lauv Lykk Mel Midt Myk Nes
Ram Raud Reit Rogn Rot Rust Ryen Salt Seim Sel Skil Slett Snar Sne Spor Stav Stor Straum Sveen
Tang Tid Troll Tung Ur Val Vang Varde Ved Vinter Ytre Øde Ørst
""")
_FAMILY_ENDS = words("""
vik dal berg haug land heim rud set nes stad mo lund bakken moen åsen hagen gård øy sund seth
strøm strand fjord vold voll tveit engen li vang vann lien eide fossen helle skog stein by bro elv
rein
""")
_PATRONYMICS = words("""
Hansen Johansen Olsen Larsen Andersen Pedersen Nilsen Kristiansen Jensen Karlsen Johnsen Pettersen
Eriksen Jacobsen Halvorsen Iversen Svendsen Knutsen Martinsen Paulsen Gundersen Mathisen Tangen
Ellingsen Arnesen Simonsen Isaksen Danielsen Thorsen Tobiassen Evensen Aasen Rasmussen Gulbrandsen
""")

_TRADES = words("""
Transport Bygg Eiendom Consulting Regnskap Elektro Rør Maskin Anlegg Snekker Maler Taksering
Renhold Frisør Catering Café Restaurant Bakeri Bilverksted Bil Båt Marin Fiske Havbruk Gård
Landbruk Skog Trelast Tre Mur Flis Tak Stillas Graving Sprengning Kran Logistikk Spedisjon Budbil
Taxi Buss Reiser Hotell Overnatting Camping Design Arkitekter Ingeniør Teknikk Automasjon Data IT
Software Web Media Film Foto Lyd Musikk Forlag Trykk Reklame Kommunikasjon Event Trening Yoga
Fysioterapi Tannklinikk Legesenter Helse Omsorg Barnehage Skole Kurs Trafikkskole Advokater
Revisjon Økonomi Finans Forsikring Megling Rekruttering Bemanning Sikkerhet Vakt Vaktmester Hage
Anleggsgartner Blomster Interiør Møbler Klær Sko Sport Sykkel Dagligvare Import Export Engros
Handel Nettbutikk Mat Drikke Bryggeri Kaffe Sjokolade Kjøtt Fisk Sjømat Hud Velvære Massasje
Optikk Gull Smykker Kunst Keramikk Ur Dyreklinikk Hundesenter Hest Energi Kraft Sol Varme
Ventilasjon Kulde Sveis Mekanisk Stål Plast Glass Vindu Dør Gulv Kjøkken Bad Låsservice Skilt
Emballasje Gjenvinning Miljø Lab Analyse Bioteknologi Medisin Apotek Utleie Verktøy Lift Lager
Flytting Rådgivning Prosjekt Utvikling Produkter Service
""")
_TAGS = words("""
Gruppen Partner Norge Nord Sør Øst Vest Drift Teknikk Invest Senter Produksjon Solutions Nordic
Scandinavia Online Pluss Total Pro Norden Innovasjon Spesialisten Eksperten Systemer Butikken Salg
""")
_HOLDINGS = words("""
Holding Invest Eiendom Kapital Forvaltning Investering Utvikling Property Finans Næringseiendom
""")

_ASSOCIATIONS = words("""
Idrettslag Velforening Skolekorps Historielag Bygdekvinnelag Hagelag Båtforening Sangkor
Ungdomslag Jeger-_og_fiskerforening Pensjonistforening Grendalag Menighetsråd Turlag Skytterlag
Motorklubb Hundeklubb Rideklubb Fotballklubb Håndballklubb Husflidslag Speidergruppe Amatørteater
Vannverk Sanitetsforening Veglag Grunneierlag Sjakklubb Danselag Fotoklubb Rotaryklubb Røde_Kors
Bridgeklubb Kystlag Museumslag Misjonsforening Skiklubb Svømmeklubb Seilforening Sykkelklubb
Musikkforening Foreldreråd Målforening Bondelag Beitelag Almenning Frivilligsentral Kulturforum
Veteranlag Damekor
""")
_QUALIFIERS = (
    *words("og_Omegn Øvre Nedre Søndre Nordre Gamle Indre Ytre Vestre Østre Midtre Nye"),
    *(f"avd. {number}" for number in range(1, 60)),
    *(f"lag {number}" for number in range(1, 60)),
    *(str(year) for year in range(1901, 2026)),
)
_DWELLINGS = words(
    "Borettslag Sameie Boligsameie Eierseksjonssameie Garasjelag Huseierforening Tomtesameie"
)
_BODIES = lines("""
    {} kommune
    {} kommune barnehageetaten
    {} kommune, teknisk etat
    {} bydel
    {} videregående skole
    {} skole
    {} sykehus
    {} kirkelige fellesråd
    Interkommunalt vannverk {}
    Politiet i {}
""")

_STREET_STARTS = words("""
Sol Bjørk Kirke Skole Stasjons Industri Fjell Nord Sjø Strand Havne Elve Foss Bakke Granli Furu
Gran Eike Aske Rogne Lønne Hassel Blåbær Tyttebær Kløver Rose Lilje Syrin Fiol Smie Mølle Sag
Teglverks Jernbane Torg Brygge Fisker Skipper Los Tele Post Doktor Lensmanns Prest Garde Skytter
Jeger Tur Utsikt Sten Berg Dal Åker Eng Myr Skog Hage Lund Park Slott Tårn Borg Festnings Kloster
Ring Kryss Øvre_Sol Nedre_Sol Gamle_Kirke Gamle_Havne Nye_Strand Øvre_Skole Nedre_Elve Søndre_Park
Nordre_Torg Ørne Svale Trost Spurve Lerke Måke Tjeld Falke Ugle Hare Rev Elg Hjorte Bever Gaupe
Mår Villmarks
""")
_STREET_ENDS = words(
    "veien vegen gata gate bakken lia tunet svingen stien åsen kroken sletta plassen faret ringen"
)

_INDUSTRIES = industries("""
01.500 Kombinert husdyr- og planteproduksjon
02.200 Avvirkning
03.111 Hav- og kystfiske
09.109 Andre tjenester tilknyttet utvinning av råolje og naturgass
10.710 Produksjon av brød og ferske konditorvarer
16.100 Saging, høvling og impregnering av tre
25.620 Bearbeiding av metaller
33.120 Reparasjon av maskiner
41.109 Utvikling og salg av egen fast eiendom ellers
41.200 Oppføring av bygninger
43.120 Grunnarbeid
43.210 Elektrisk installasjonsarbeid
43.221 Rørleggerarbeid
43.320 Snekkerarbeid
43.341 Malerarbeid
45.112 Detaljhandel med biler og lette motorvogner, unntatt motorsykler
45.200 Vedlikehold og reparasjon av motorvogner, unntatt motorsykler
46.421 Engroshandel med klær
46.900 Uspesifisert engroshandel
47.111 Butikkhandel med bredt vareutvalg med hovedvekt på nærings- og nytelsesmidler
47.710 Butikkhandel med klær
47.919 Postordre-/Internetthandel med annet spesialisert vareutvalg
49.320 Drosjebiltransport
49.410 Godstransport på vei
53.200 Andre post- og budtjenester
56.101 Drift av restauranter og kafeer
56.210 Cateringvirksomhet
58.290 Utgivelse av annen programvare
59.110 Produksjon av film, video og fjernsynsprogrammer
62.010 Programmeringstjenester
62.020 Konsulentvirksomhet tilknyttet informasjonsteknologi
63.110 Databehandling, datalagring og tilknyttede tjenester
64.308 Investeringsselskaper og lignende lukket for allmennheten
68.100 Kjøp og salg av egen fast eiendom
68.209 Utleie av egen eller leid fast eiendom ellers
68.310 Eiendomsmegling
68.320 Eiendomsforvaltning
69.100 Juridisk tjenesteyting
69.201 Regnskap og bokføring
70.100 Hovedkontortjenester
70.220 Bedriftsrådgivning og annen administrativ rådgivning
71.112 Arkitekttjenester vedrørende byggverk
71.121 Byggeteknisk konsulentvirksomhet
71.129 Annen teknisk konsulentvirksomhet
73.110 Reklamebyråer
74.101 Industridesign, produktdesign og annen teknisk designvirksomhet
74.200 Fotografvirksomhet
78.200 Utleie av arbeidskraft
81.101 Vaktmestertjenester
81.210 Rengjøring av bygninger
85.530 Trafikkskoleundervisning
85.599 Annen undervisning ikke nevnt annet sted
86.211 Allmenn legetjeneste
86.230 Tannhelsetjenester
86.902 Fysioterapitjeneste
90.011 Utøvende kunstnere og underholdningsvirksomhet innen musikk
93.120 Idrettslag og -klubber
94.991 Aktiviteter i andre interesseorganisasjoner ikke nevnt annet sted
96.020 Frisering og annen skjønnhetspleie
00.000 Uoppgitt
""")

#: Weights in thousandths of the register.
_FORMS = urn(
    {
        Form("AS", "AS", "Aksjeselskap", Naming.TRADING, "AS"): 355,
        Form("ASA", "ASA", "Allmennaksjeselskap", Naming.TRADING, "ASA"): 2,
        Form("ENK", "ENK", "Enkeltpersonforetak", Naming.SOLE_TRADER): 380,
        Form("NUF", "NUF", "Norskregistrert utenlandsk foretak", Naming.FOREIGN): 30,
        Form("UTLA", "UTLA", "Utenlandsk enhet", Naming.FOREIGN): 25,
        Form("FLI", "FLI", "Forening/lag/innretning", Naming.ASSOCIATION): 130,
        Form("ANS", "ANS", "Ansvarlig selskap med solidarisk ansvar", Naming.PARTNERS, "ANS"): 8,
        Form("DA", "DA", "Ansvarlig selskap med delt ansvar", Naming.PARTNERS, "DA"): 8,
        Form("KS", "KS", "Kommandittselskap", Naming.TRADING, "KS"): 3,
        Form("SA", "SA", "Samvirkeforetak", Naming.TRADING, "SA"): 6,
        Form("BA", "BA", "Selskap med begrenset ansvar", Naming.TRADING, "BA"): 2,
        Form("STI", "STI", "Stiftelse", Naming.ASSOCIATION): 8,
        Form("BRL", "BRL", "Borettslag", Naming.PROPERTY): 10,
        Form("ESEK", "ESEK", "Eierseksjonssameie", Naming.PROPERTY): 10,
        Form("SAM", "SAM", "Tingsrettslig sameie", Naming.PROPERTY): 6,
        Form("KOMM", "KOMM", "Kommune", Naming.PUBLIC): 1,
        Form("ORGL", "ORGL", "Organisasjonsledd", Naming.PUBLIC): 7,
        Form("IKS", "IKS", "Interkommunalt selskap", Naming.PUBLIC, "IKS"): 1,
        Form("KIRK", "KIRK", "Den norske kirke", Naming.PUBLIC): 2,
        Form("KBO", "KBO", "Konkursbo", Naming.ESTATE, "KONKURSBO"): 6,
    }
)

NORWEGIAN = Lexicon(
    given=_GIVEN,
    families=compounds(_FAMILY_STARTS, _FAMILY_ENDS),
    patronymics=_PATRONYMICS,
    trades=_TRADES,
    tags=_TAGS,
    holdings=_HOLDINGS,
    associations=_ASSOCIATIONS,
    qualifiers=_QUALIFIERS,
    dwellings=_DWELLINGS,
    bodies=_BODIES,
    streets=compounds(_STREET_STARTS, _STREET_ENDS),
    industries=_INDUSTRIES,
    places=PLACES,
    forms=_FORMS,
    conjunction="og",
    purposes=lines("""
        Handel og service, og det som naturlig hører sammen med dette.
        Kjøp, salg og utleie av fast eiendom, samt deltakelse i andre selskaper.
        Konsulentvirksomhet og annen rådgivning til næringslivet.
        Entreprenørvirksomhet, herunder oppføring og vedlikehold av bygninger.
        Transport av varer på vei og dermed beslektet virksomhet.
        Utvikling og salg av programvare til offentlige og private kunder.
    """),
)
