"""Danish words that invented names, addresses and trades are made of."""

from register_samples.chance import urn
from register_samples.facts import Form, Naming
from register_samples.words.danish_places import PLACES
from register_samples.words.lexicon import Lexicon, compounds, industries, lines, words

_GIVEN = words("""
Anne Kirsten Mette Hanne Anna Helle Susanne Lene Maria Marianne Inge Karen Lone Camilla Pia Louise
Charlotte Bente Gitte Jette Tina Birgit Ida Hanna Jytte Sofie Christina Kirstine Birthe Line Ulla
Emma Julie Rikke Laura Heidi Lis Annette Freja Lisbeth Trine Astrid Ellen Karin Maja Inger
Mathilde Dorthe Signe Else Tove Anja Katrine Sanne Ditte Malene Sidsel Clara Alberte Nanna Vibeke
Bodil Ruth Gerda Stine Grethe Merete Ingrid Rosa Agnes Liva Asta Nora Frida Naja Kaja Randi Tenna
Ulrikke Zenia Peter Michael Lars Jens Thomas Henrik Søren Christian Jan Martin Niels Anders Morten
Jesper Mads Per Hans Rasmus Jørgen Kim Ole Erik Carsten Mikkel Jakob Torben Bo Frederik Steen
Claus Kasper Bent Knud Allan Flemming Kenneth Daniel Magnus Kurt Svend Simon Emil Tommy Oliver
Poul Mogens John Mathias Nikolaj Finn Jonas Kristian Brian Victor Leif Sebastian Lucas Tobias
Andreas Ulrik Dennis René Stefan Johannes Bjarne Gert Egon Villy Arne Asger Troels Esben Jeppe
Rune Anton Aksel Malthe Åge Børge Preben Viggo Holger Verner Ejnar Hugo Otto Theodor August
Valdemar Storm Bjørn Tue Thor André Ali Ahmed Omar Fatima Aisha Yusuf Nadia Samir Leila Hassan
Mehmet Aylin Piotr Agnieszka Anh Minh Elena Andrei
""")

_FAMILY_STARTS = words("""
Nør Øster Vester Sønder Kirke Ege Birke Bøge Lind Ahl Ber Bak Brand Broge Dal Dyr Elle Eng Fisker
Gam Grøn Hald Hede Hest Holm Høj Klit Kro Lang Lille Lund Mose Møl Nord Ny Over Ring Ros Rav Sand
Skov Sol Steen Storm Strand Svane Søn Thor Toft Trold Ulv Vad Vang Vind Aa Abild Agger Alle Amt
Asp Aske Bal Bejs Birk Bjerre Bol Bor Bregn Bro Bryn Byg Bæk Damm Dons Drej Drost Due Egel Elk
Engel Falk Fau Fen Fjeld Flad Flens Frede Frost Fug Før Gal Gejl Gjern Gram Gre Grav Hav Hvid Ham
Hart Hassel Helle Hjor Hjul Hor Hov Hul Hus Hvol Hyld Is Jel Kam Kat Kel Klein Klok Knap Kold Kor
Krag Kær Lav Ler Lev Lim Lod Løg Mal Mar Mej Melle Munk Mølle Neder Nis Nordes Od Ols Or Pile
Ploug Præst Rams Ran Rav Rib Rom Rug Ræb Rød Sejl Sig Skjold Skal Skår Slot Smed Snog Spang Stald
Sten Stor Sund Svend
""")
_FAMILY_ENDS = words("""
gaard holm lund toft bjerg dal høj skov bæk mark vang sted rup lev borg strup by sø bro vad krog
dam have hus hede næs lind balle berg bach mose
""")
_PATRONYMICS = words("""
Nielsen Jensen Hansen Pedersen Andersen Christensen Larsen Sørensen Rasmussen Jørgensen Petersen
Madsen Kristensen Olsen Thomsen Christiansen Poulsen Johansen Møller Mortensen Knudsen Jakobsen
Mikkelsen Frederiksen Laursen Henriksen Lauritsen Schmidt Eriksen Clausen Simonsen Andreasen
Iversen
""")

_TRADES = words("""
Transport Byg Ejendomme Consult Regnskab El VVS Maskiner Anlæg Tømrer Maler Rengøring Frisør
Catering Café Restaurant Bageri Autoværksted Biler Både Marine Fiskeri Landbrug Skovbrug Trælast
Murer Fliser Tag Stillads Entreprenør Kloak Kraner Logistik Spedition Kurer Taxi Busser Rejser
Hotel Kro Camping Design Arkitekter Ingeniører Teknik Automation Data IT Software Web Medier Film
Foto Lyd Musik Forlag Tryk Reklame Kommunikation Event Fitness Yoga Fysioterapi Tandklinik Lægehus
Sundhed Pleje Børnehave Skole Kurser Køreskole Advokater Revision Økonomi Finans Forsikring
Rekruttering Vikar Sikkerhed Vagt Vicevært Have Anlægsgartner Blomster Indretning Møbler Tøj Sko
Sport Cykler Dagligvarer Import Eksport Engros Handel Webshop Fødevarer Vin Bryggeri Kaffe
Chokolade Slagter Fisk Velvære Massage Optik Guld Smykker Kunst Keramik Ure Dyreklinik
Hundepension Heste Energi Kraft Solceller Varme Ventilation Køl Smede Stål Plast Glas Vinduer Døre
Gulve Køkkener Bad Låse Skilte Emballage Genbrug Miljø Laboratorium Analyse Biotek Apotek
Udlejning Værktøj Lifte Lager Flytning Rådgivning Projekt Udvikling Produkter Service Kiosk
Pizzaria Grill Vask Syning Gartneri Planteskole
""")
_TAGS = words("""
Gruppen Partner Danmark Nord Syd Øst Vest Drift Teknik Invest Center Produktion Solutions Nordic
Scandinavia Online Plus Total Pro Innovation Specialisten Eksperten Systemer Butikken Salg
Nordjylland Sjælland Fyn Jylland
""")
_HOLDINGS = words("Holding Invest Ejendomme Kapital Investering Udvikling Property Finans Formue")

_ASSOCIATIONS = words("""
Idrætsforening Grundejerforening Skoleorkester Lokalhistoriske_Forening Husmoderforening
Haveforening Bådelaug Sangkor Ungdomsforening Jagtforening Pensionistforening Beboerforening
Menighedsråd Vandværk Skytteforening Motorklub Hundeklub Rideklub Boldklub Håndboldklub
Spejdergruppe Amatørteater Røde_Kors Antenneforening Vejlaug Skakklub Danseforening Fotoklub
Rotaryklub Bridgeklub Museumsforening Missionshus Svømmeklub Sejlklub Cykelklub Musikforening
Forældreforening Borgerforening Landboforening Forsamlingshus Kulturhus Veteranforening Damekor
Bylaug Naturklub Fiskeriforening Støtteforening Vennekreds Venstreforening Aftenskole Friskole
""")
_QUALIFIERS = (
    *words("og_Omegn Øvre Nedre Søndre Nordre Gamle Indre Ydre Vestre Østre Nye"),
    *(f"afd. {number}" for number in range(1, 60)),
    *(f"hold {number}" for number in range(1, 60)),
    *(f"af {year}" for year in range(1901, 2026)),
)
_DWELLINGS = words("Andelsboligforening Ejerforening Boligforening Ejerlaug Garageforening Haveby")
_BODIES = lines("""
    {} Kommune
    {} Kommune, Børn og Unge
    {} Kommune, Teknik og Miljø
    {} Gymnasium
    {} Skole
    {} Sygehus
    {} Provsti
    {} Bibliotek
    Fælleskommunalt vandværk {}
    Plejecenter {}
""")

_STREET_STARTS = words("""
Sol Birke Kirke Skole Stations Industri Nørre Sønder Øster Vester Strand Havne Mølle Bakke Gran
Fyrre Ege Aske Linde Hassel Rønne Kløver Rose Lilje Syren Viol Smede Sav Teglværks Jernbane Torve
Brygger Fisker Skipper Post Doktor Præste Garver Skytte Jæger Skov Dal Eng Mose Hede Mark Have
Lund Park Slots Tårn Borg Fæstnings Kloster Ring Kors Gammel_Kirke Gammel_Strand Ny_Øster
Ny_Vester Lille_Kirke Store Sankt_Anna Sankt_Ols Ørne Svale Drossel Spurve Lærke Måge Falke Ugle
Hare Ræve Elg Hjorte Bæver Odder Nygårds Kær Toft Bøge Ahorn Poppel Pile Kastanie Æble Pære
Kirsebær Blomme Kærminde Tulipan Anemone
""")
_STREET_ENDS = words(
    "vej vejen gade gaden allé stræde parken vænget toften bakken lunden torv plads krogen"
)

_INDUSTRIES = industries("""
011100 Dyrkning af korn (undtagen ris), bælgfrugter og olieholdige frø
014100 Avl af malkekvæg
031100 Havfiskeri
107120 Fremstilling af friske bageriprodukter
162300 Fremstilling af bygningstømmer og snedkeriartikler i øvrigt
256200 Maskinforarbejdning
331200 Reparation af maskiner
411000 Gennemførelse af byggeprojekter
412000 Opførelse af bygninger
431200 Forberedende byggepladsarbejder
432100 El-installation
432200 VVS- og blikkenslagerforretninger
433200 Tømrer- og bygningssnedkervirksomhed
433410 Malerforretninger
451120 Detailhandel med personbiler og lette varevogne
452010 Autoreparationsværksteder mv.
463900 Ikke-specialiseret engroshandel med føde-, drikke- og tobaksvarer
464210 Engroshandel med beklædning
471110 Købmænd og døgnkiosker
477110 Tøjforretninger
479119 Detailhandel med andre varer via internet
493200 Taxikørsel
494100 Vejgodstransport
532000 Andre post- og kurertjenester
561010 Servering af mad i restauranter og på caféer
561020 Pizzeriaer, grillbarer, isbarer mv.
562100 Event catering
582900 Anden udgivelse af software
591110 Produktion af film og videofilm
620100 Computerprogrammering
620200 Konsulentbistand vedrørende informationsteknologi
631100 Databehandling, webhosting og lignende serviceydelser
642020 Ikke-finansielle holdingselskaber
681000 Køb og salg af egen fast ejendom
682030 Udlejning af boliger
682040 Udlejning af erhvervsejendomme
683110 Ejendomsmæglere mv.
691000 Juridisk bistand
692000 Bogføring og revision, skatterådgivning
701010 Hovedsæders virksomhed
702200 Virksomhedsrådgivning og anden rådgivning om driftsledelse
711100 Arkitektvirksomhed
711210 Rådgivende ingeniørvirksomhed inden for byggeri og anlægsarbejder
731110 Reklamebureauer
741010 Industriel design og produktdesign
742000 Fotografisk virksomhed
782000 Vikarbureauer
811000 Kombinerede serviceydelser
812100 Almindelig rengøring i bygninger
855300 Køreskoler
855900 Anden undervisning i.a.n.
862100 Alment praktiserende læger
862300 Praktiserende tandlæger
869020 Fysio- og ergoterapeuter
900110 Teater- og koncertvirksomhed
931200 Sportsklubber
949900 Andre organisationer og foreninger i.a.n.
960210 Frisørsaloner
980000 Uoplyst
""")

#: Weights in thousandths of the register, after the counts of September 2025.
_FORMS = urn(
    {
        Form("10", "ENK", "Enkeltmandsvirksomhed", Naming.SOLE_TRADER): 410,
        Form("80", "APS", "Anpartsselskab", Naming.TRADING, "ApS"): 300,
        Form("115", "FFO", "Frivillig forening", Naming.ASSOCIATION): 70,
        Form("15", "PMV", "Personligt ejet mindre virksomhed", Naming.SOLE_TRADER): 50,
        Form("30", "I/S", "Interessentskab", Naming.PARTNERS, "I/S"): 40,
        Form("60", "A/S", "Aktieselskab", Naming.TRADING, "A/S"): 42,
        Form("110", "FOR", "Forening", Naming.ASSOCIATION): 30,
        Form("81", "IVS", "Iværksætterselskab", Naming.TRADING, "IVS"): 20,
        Form("210", "UDL", "Anden udenlandsk virksomhed", Naming.FOREIGN): 10,
        Form("90", "FON", "Fonde og andre selvejende institutioner", Naming.ASSOCIATION): 8,
        Form("40", "K/S", "Kommanditselskab", Naming.TRADING, "K/S"): 5,
        Form("70", "P/S", "Partnerselskab", Naming.TRADING, "P/S"): 3,
        Form("140", "ABA", "Andelsselskab med begrænset ansvar", Naming.TRADING, "A.M.B.A."): 3,
        Form("130", "ANS", "Andelsselskab", Naming.PROPERTY): 3,
        Form("250", "KOM", "Primærkommune", Naming.PUBLIC): 2,
        Form("230", "STA", "Statslig administrativ enhed", Naming.PUBLIC): 2,
        Form("245", "REG", "Region", Naming.PUBLIC): 1,
        Form("100", "EFO", "Erhvervsdrivende fond", Naming.ASSOCIATION): 1,
    }
)

DANISH = Lexicon(
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
        Selskabets formål er handel og service samt hermed beslægtet virksomhed.
        Selskabets formål er at eje kapitalandele i andre selskaber.
        Selskabets formål er køb, salg og udlejning af fast ejendom.
        Selskabets formål er at levere rådgivning til offentlige og private virksomheder.
        Selskabets formål er at drive entreprenørvirksomhed.
        Selskabets formål er udvikling og salg af software.
    """),
)
