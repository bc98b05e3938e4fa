"""What tests of `reno_dspy` share."""

from pathlib import Path

import pytest
from lxml import etree


@pytest.fixture(scope="session")
def jats() -> etree.DTD:
    """The tag set JATS Archiving 1.3, which Biopython has a copy of."""
    bio = pytest.importorskip("Bio", reason="needs the JATS DTD, which comes with biopython")
    dtds = Path(bio.__file__).parent / "Entrez" / "DTDs"
    return etree.DTD(str(dtds / "JATS-archivearticle1-3-mathml3.dtd"))
