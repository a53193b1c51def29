"""Values of filters that no company has, with those most like them that some have.

A hint is of the filter's own field and register, and there is none rather than many.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from common.contracts.find import FindRequest
from common.domain.known_values import is_municipality_code, municipality_key
from common.domain.sentences import nearest
from lookup.search.find.columns import Column, Segments
from lookup.search.indexed_company import CITY, MUNICIPALITY, MUNICIPALITY_CODE, folded

#: Towns are thousands: of two letters that are swapped in four, the rest is three quarters.
_ALIKE: Final = 0.75
#: Values of a filter that are compared, each with all of a register, and hints of each.
_MAX_COMPARED, _MAX_NEAR = 5, 3
#: Digits of a municipality's code; Denmark writes three, or a zero before them.
_DIGITS: Final = 4


def unknown_values(
    segments: Segments, request: FindRequest
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns values that no company has, by parameter, each with those that are nearest to it."""
    cities = _unknown(segments, CITY, {each: folded(each) for each in request.cities})
    codes = _unknown(
        segments,
        MUNICIPALITY_CODE,
        {
            each: municipality_key(each)
            for each in request.municipalities
            if is_municipality_code(each)
        },
    )
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    if cities:
        towns = {value for column in _columns(segments, CITY) for value in column.values if value}
        found["city"] = {
            city: tuple(nearest(city, towns, count=_MAX_NEAR, alike=_ALIKE)) for city in cities
        }
    if codes:
        names = _names_by_code(segments)
        found["municipality"] = {code: _near_names(code, names) for code in codes}
    return found


def _columns(segments: Segments, field: str) -> Sequence[Column]:
    return [part.segment.columns[field] for part in segments.parts]


def _unknown(segments: Segments, field: str, wanted: Mapping[str, str]) -> list[str]:
    """Returns the wanted values of whose keys there is none."""
    if not wanted:
        return []
    known = {folded(value) for column in _columns(segments, field) for value in column.values}
    return [value for value, key in wanted.items() if key not in known][:_MAX_COMPARED]


def _names_by_code(segments: Segments) -> dict[str, str]:
    names: dict[str, str] = {}
    for part in segments.parts:
        codes, municipalities = (
            part.segment.columns[field] for field in (MUNICIPALITY_CODE, MUNICIPALITY)
        )
        # Of each code the last row, whichever that is.
        last = np.zeros(len(codes.values), np.int64)
        last[codes.codes] = np.arange(len(part.segment))
        for code, place in zip(codes.values, municipalities.codes[last].tolist(), strict=True):
            if code and municipalities.values[place]:
                names[code] = municipalities.values[place]
    return names


def _near_names(code: str, names: Mapping[str, str]) -> tuple[str, ...]:
    near = {name for known, name in names.items() if _is_slip(code, known)}
    return tuple(sorted(near)) if len(near) <= _MAX_NEAR else ()


def _is_slip(given: str, known: str) -> bool:
    """Returns True for codes with one other digit, or with two neighbours swapped."""
    one, other = given.zfill(_DIGITS), known.zfill(_DIGITS)
    differing = [place for place in range(_DIGITS) if one[place] != other[place]]
    if len(differing) == 1:
        return True
    return (
        len(differing) == 2
        and differing[1] == differing[0] + 1
        and one[differing[0] : differing[1] + 1] == other[differing[0] : differing[1] + 1][::-1]
    )
