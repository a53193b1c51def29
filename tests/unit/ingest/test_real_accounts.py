"""Figures of real Danish instances are those that people read in them, where they are at hand.

SHARED_DATA names the folder of the instances; they are not part of the project. The figures were
written by hand from the documents.
"""

import os
from pathlib import Path

import pytest

from common.contracts.accounts import AccountsPeriod, AnnualAccounts
from ingest.registers.cvr.accounts_facts import WANTED
from ingest.registers.cvr.annual_accounts import Filing, read_filing
from ingest.registers.cvr.xbrl import read_instance

SHARED_DATA = os.environ.get("SHARED_DATA")
REGISTERED = AccountsPeriod(start="2025-01-01", end="2025-12-31")

NAMES = (
    "revenue",
    "gross_profit",
    "employee_expense",
    "operating_profit",
    "profit_before_tax",
    "tax",
    "profit",
    "non_current_assets",
    "current_assets",
    "cash",
    "assets",
    "equity",
    "non_current_liabilities",
    "current_liabilities",
    "liabilities",
    "employees",
)

#: The document, its period, scope, and what else it says; then the figures in the order above,
#: `-` for one that is not told.
FILED = """
dk00 2025-01-01 2025-12-31 company B_micro none
  - 19834 - 10921 10248 2254 7994 100000 0 - 100000 -46307 - 146307 146307 -
dk01 2024-10-01 2025-09-30 company B_micro none
  - -300 - -300 -300 - -300 - 6744 1744 6744 -585256 - 592000 592000 -
dk03 2025-01-01 2025-12-31 company B none
  - 1335417 1285890 - 49527 -13582 63109 111250 167775 164341 279025 83118 - 191438 195907 3
dk04 2025-01-01 2025-12-31 unknown - -
  2000000 800000 - 265000 250000 50000 200000 - - 50000 1000000 600000 - - 400000 -
dk06 2015-05-01 2016-04-30 company B no_assurance
  - 491719 648896 -157177 -163390 -33401 -129989 40618 264363 62809 304981 13859 - 291122 291122 3
dk07 2016-01-01 2016-12-31 company C_large audit
  345028000 68539000 - 18567000 18762000 4240000 14522000 27866000 114552000 12814000 142418000
  61554000 - 80864000 80864000 297
dk08 2012-04-01 2013-03-31 company C_medium - negative_costs
  1677000000 922000000 -839000000 -94000000 -210000000 8000000 -202000000 2306000000 540000000
  34000000 2846000000 333000000 796000000 1227000000 2513000000 1139
dk09 2012-01-01 2012-12-31 company B -
  - 389875 128722 - 199023 49756 149267 - - 223735 - - - - - -
dk10 2015-01-01 2015-12-31 company C_large audit
  3818745000 - 706395000 -501667000 -294517000 -96567000 -197950000 1886210000 1210225000
  555021000 3096435000 934267000 477683000 1684485000 - -
dk10 2015-01-01 2015-12-31 group C_large audit
  19608961000 - 1611377000 -188790000 -220590000 -33992000 -186598000 1810540000 3104665000
  583014000 4915205000 951414000 915383000 3048408000 - 4188
dk11 2016-06-01 2017-05-31 unknown - audit
  3090900000 - 2156500000 88800000 - - 85800000 675000000 1012000000 -162200000 1689000000
  517800000 56000000 1114700000 1170700000 -
dk12 2016-01-01 2016-12-31 company D audit
  9716000000 - 2630000000 -2240000000 -2266000000 562000000 -1704000000 15689000000 1496000000
  18000000 17185000000 5338000000 5502000000 5306000000 11847000000 -
dk12 2016-01-01 2016-12-31 group D audit
  11039000000 - 3736000000 -1889000000 -2193000000 489000000 -1704000000 14736000000 1798000000
  71000000 16534000000 5338000000 5504000000 4710000000 11196000000 7285
dk13 2014-01-01 2014-12-31 company B extended_review
  - 4100142 3344330 727959 - 181047 541316 65404 2607667 944589 2673071 1414171 - 1258900 1258900 -
dk14 2014-01-01 2014-12-31 company B none
  - 1093293 - 285706 271363 70245 201118 - 1545810 100652 1545810 691110 - 854700 854700 -
dk15 2016-01-01 2016-12-31 company C_large audit
  5073800000 - 2049900000 340800000 325800000 81400000 244400000 2485900000 1220200000 92000000
  3706100000 1164600000 682800000 1858700000 - 2920
dk18 2016-07-01 2017-06-30 company C_medium audit
  - 109465546 110052662 -4288939 - -904994 10863239 11881171 76236956 300894 88118127 17885022
  - 70233105 70233105 -
dk18 2016-07-01 2017-06-30 group C_medium audit
  - 110171485 111483406 -5254536 - -744284 10798462 12076458 78491900 982926 90568357 17923669
  - 72644688 72644688 -
dk19 2014-01-01 2014-12-31 company C_medium audit conflict:employees
  - -200000 - -200000 28253000 433000 28686000 118950000 38827000 - 157777000 53695000
  - 104082000 104082000 -
dk19 2014-01-01 2014-12-31 group C_medium audit
  629211000 492360000 335410000 148615000 149675000 -15271000 134404000 29924000 349024000
  12875000 378948000 212592000 - 166356000 166356000 485
dk20 2016-01-01 2016-12-31 unknown - audit
  887878000 666101000 475902000 184924000 200894000 31008000 169886000 21680000 415688000 8127000
  437368000 224488000 - 212880000 212880000 -
dk22 2016-01-01 2016-12-31 unknown - audit
  887878000 666101000 475902000 184924000 200894000 31008000 169886000 21680000 415688000 8127000
  437368000 224488000 - 212880000 212880000 -
dk23 2016-01-01 2016-12-31 unknown - audit ambiguous_scope
  - - - - - - - - - - - - - - - -
dk24 2016-07-01 2017-06-30 company C_medium audit
  - 98289048 73206857 23536145 23541025 5209939 18331086 1637828 52847249 19581002 54485077
  29541790 - 24333048 24943287 77
dk25 2015-07-01 2016-06-30 company C_medium audit
  - 87883765 66635292 19658442 19704409 4189184 15515225 1427054 49187767 22130259 50614821
  31210704 - 19030055 19404117 74
"""

#: The year before: document, its period, scope; profit, assets, equity, liabilities, employees.
BEFORE = """
dk00 2024-01-01 2024-12-31 company -54301 6920 -54301 61221 -
dk01 2023-10-01 2024-09-30 company 0 7044 -584956 592000 -
dk03 2024-01-01 2024-12-31 company 0 307596 80009 227587 2
dk06 2014-05-01 2015-04-30 company -147885 269943 143848 126095 2
dk07 2015-01-01 2015-12-31 company 13817000 122946000 57032000 - 280
dk08 2011-04-01 2012-03-31 company -894000000 3085000000 349000000 2736000000 1124
dk09 2011-01-01 2011-12-31 company 266514 - - - -
dk10 2014-01-01 2014-12-31 company -271766000 3151519000 1129578000 - -
dk10 2014-01-01 2014-12-31 group -259123000 5322926000 1209275000 - -
dk11 2015-06-01 2016-05-31 unknown 65100000 1579500000 487100000 1092400000 -
dk12 2015-01-01 2015-12-31 company 446000000 20534000000 6931000000 13603000000 -
dk12 2015-01-01 2015-12-31 group 446000000 20369000000 6931000000 13438000000 -
dk13 2013-01-01 2013-12-31 company 480007 1996664 972855 1023809 -
dk14 2013-01-01 2013-12-31 company 308204 1252321 489992 762329 -
dk15 2015-01-01 2015-12-31 company 505300000 2713600000 920200000 - -
dk18 2015-07-01 2016-06-30 company 972641 101269960 17021782 - -
dk18 2015-07-01 2016-06-30 group 972641 101269960 17021782 - -
dk19 2013-01-01 2013-12-31 company 6468000 185159000 55009000 130150000 87
dk19 2013-01-01 2013-12-31 group 73511000 246142000 108188000 137954000 366
dk20 2015-01-01 2015-12-31 unknown 168878000 476193000 318107000 158086000 -
dk22 2015-01-01 2015-12-31 unknown 168878000 476193000 318107000 158086000 -
dk23 2015-01-01 2015-12-31 unknown - - - - -
dk24 2015-07-01 2016-06-30 company 15515225 50614821 31210704 19404117 74
dk25 2014-07-01 2015-06-30 company 17934673 54554010 31695479 22858531 65
"""
_BEFORE_ROWS = list(filter(None, BEFORE.splitlines()))
_BEFORE_NAMES = ("profit", "assets", "equity", "liabilities", "employees")

pytestmark = pytest.mark.skipif(
    SHARED_DATA is None, reason="SHARED_DATA names no folder of real instances"
)


def _told(text: str) -> str | None:
    return None if text == "-" else text


def _read(name: str) -> list[AnnualAccounts]:
    content = (Path(SHARED_DATA or ".") / "accounts" / "dk" / f"{name}.xml").read_bytes()
    instance = read_instance(content, WANTED)
    number = next(iter(instance.companies), "10004444")
    return read_filing(Filing("urn:ofk:oid:1", number, REGISTERED, None), [instance])


def _rows() -> dict[tuple[str, ...], list[str | None]]:
    rows: dict[tuple[str, ...], list[str | None]] = {}
    for line in filter(None, FILED.splitlines()):
        if line.startswith("dk"):
            figures = rows.setdefault(tuple(line.split()), [])
        else:
            figures += map(_told, line.split())
    return rows


@pytest.mark.parametrize("row,figures", _rows().items(), ids=map(" ".join, _rows()))
def test_a_real_document_has_the_figures_that_are_printed_in_it(
    row: tuple[str, ...], figures: list[str | None]
) -> None:
    name, start, end, scope, size_class, audit, *warnings = row

    [found] = [each for each in _read(name) if (each.scope, each.basis) == (scope, "filed")]

    assert found.period == AccountsPeriod(start=start, end=end)
    assert found.figures.model_dump() == dict(zip(NAMES, figures, strict=True))
    assert (found.size_class, found.audit.type) == (_told(size_class), _told(audit))
    assert found.warnings == tuple(warnings)
    assert found.currency == "DKK"


@pytest.mark.parametrize("row", _BEFORE_ROWS)
def test_a_real_document_has_the_figures_of_the_year_before(row: str) -> None:
    name, start, end, scope, *figures = row.split()

    [found] = [each for each in _read(name) if (each.scope, each.basis) == (scope, "comparative")]

    assert found.period == AccountsPeriod(start=start, end=end)
    assert [getattr(found.figures, each) for each in _BEFORE_NAMES] == list(map(_told, figures))


def test_no_real_document_has_accounts_beside_those_of_the_tables() -> None:
    names = {row.split()[0] for row in _BEFORE_ROWS} | {"dk04"}

    count = sum(len(_read(name)) for name in names)

    assert count == len(_rows()) + len(_BEFORE_ROWS)
