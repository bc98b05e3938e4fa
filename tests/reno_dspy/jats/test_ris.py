"""RIS records as reference managers read them."""

from __future__ import annotations

from typing import Any

import pytest
import rispy

from reno_dspy.jats.ris import record
from tests.reno_dspy.jats.test_bibtex import FOXES


def test_an_article() -> None:
    assert record(FOXES).replace("ER  - ", "ER  -") == (
        """TY  - JOUR
AU  - van der Müller, K. J., Jr.
AU  - Fox and Goose Society, Tokyo
AU  - Madonna
TI  - The role of mRNA in 50% of foxes & geese_1
T2  - Journal of $ocks #3
VL  - 12
IS  - 3
DO  - 10.1000/a_b%c
SP  - 200
EP  - 209
UR  - https://example.org/~ito/a_b#c
PY  - 2010
DA  - 2010/05/07/
ER  -

"""
    )


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "book", "ISBN": "978-3", "publisher": "Salt", "publisher-place": "Tokyo"},
         {"type_of_reference": "BOOK", "issn": "978-3", "publisher": "Salt", "place_published": "Tokyo"}),
        ({"type": "document", "page": "e12"}, {"type_of_reference": "GEN", "start_page": "e12"}),
        ({"type": "chapter", "issued": {"raw": "in press"}, "editor": [{"family": "Oe"}]},
         {"type_of_reference": "CHAP", "year": "in press", "secondary_authors": ["Oe"]}),
        ({"type": "thesis", "issued": {"date-parts": [[2010, 5]]}},
         {"type_of_reference": "THES", "year": "2010", "date": "2010/05//"}),
    ],
)  # fmt: skip
def test_read_back(item: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = rispy.loads(record({"id": "a", **item}))
    assert found == expected
