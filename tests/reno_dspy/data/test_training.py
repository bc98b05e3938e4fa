"""Train and dev of any data: as they are, or split by citing article."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.data.dataset import Row, save
from reno_dspy.data.training import train_and_dev
from reno_dspy.jats.text import folded

ROWS = [
    Row(None, f"Ref {n}.", f"<m><year>{n}</year></m>", "ore", citing_article_id=f"a{n % 20}")
    for n in range(200)
]


def as_file(folder: Path, rows: list[Row]) -> str:
    records = [{"plaintext": r.plaintext, "xml": r.xml, "citing_article": r.cluster} for r in rows]
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(file)


def test_splits_stay_as_they_are(tmp_path: Path) -> None:
    save({"train": ROWS[:9], "dev": ROWS[20:25], "test": ROWS[40:]}, tmp_path, "", {})
    train, dev = train_and_dev(str(tmp_path), 0)
    assert (train.rows, dev.rows) == (tuple(ROWS[:9]), tuple(ROWS[20:25]))


@pytest.mark.parametrize("kind", ["file", "train only"])
def test_other_data_is_split_by_article_and_text(kind: str, tmp_path: Path) -> None:
    repeated = [*ROWS, Row(None, "REF 1", "<m/>", "ore", citing_article_id="a19")]
    if kind == "file":
        data = as_file(tmp_path, repeated)
    else:
        data = str(tmp_path / "d")
        save({"train": repeated}, tmp_path / "d", "", {})
    train, dev = train_and_dev(data, 0)
    assert 10 <= len(dev.rows) <= 30
    assert len(train.rows) + len(dev.rows) == 200
    assert not {row.cluster for row in train.rows} & {row.cluster for row in dev.rows}
    texts = [{folded(row.plaintext or "") for row in side.rows} for side in (train, dev)]
    assert not texts[0] & texts[1]
    assert (train.ref().name, dev.ref().name) == (f"{train.name}-train", f"{dev.name}-dev")
    assert train_and_dev(data, 0) == (train, dev) != train_and_dev(data, 1)


def test_data_without_train_is_refused(tmp_path: Path) -> None:
    save({"test": ROWS}, tmp_path, "", {})
    with pytest.raises(InputError, match="has no split `train`, only test"):
        train_and_dev(str(tmp_path), 0)
