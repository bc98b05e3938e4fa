"""Corrections over HTTP: kept whole or refused with a sentence, by one process, and really forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from reno_dspy.base.errors import InputError
from reno_dspy.data.corrections import FILE
from reno_dspy.data.dataset import load
from reno_dspy.service.corrections import CorrectionStore, corrections_router

ITO = {
    "text": "Ito K. Foxes. 2010.",
    "publication_type": "book",
    "spans": [{"start": 0, "end": 3, "field": "surname", "role": "author", "confidence": 0.4}],
}


def client(store: CorrectionStore | None) -> TestClient:
    app = FastAPI()
    app.include_router(corrections_router(store))
    return TestClient(app)


def test_what_is_saved_outlives_the_process_and_can_be_forgotten(tmp_path: Path) -> None:
    with CorrectionStore.open(tmp_path) as store:
        web = client(store)
        assert web.post("/corrections", json={"references": [ITO]}).json()["saved"] == 1
        accepted = ITO | {"accepted": True, "article": "Thesis of mine"}
        web.post("/corrections", json={"references": [accepted, ITO | {"text": "Other. 2011."}]})
    with open(tmp_path / FILE, "a", encoding="utf-8") as file:
        file.write('{"text": "torn')
    with CorrectionStore.open(tmp_path) as store:
        web = client(store)
        first, second = web.get("/corrections").json()["references"]
        assert (first["accepted"], first["article"], second["text"]) == (
            True,
            "Thesis of mine",
            "Other. 2011.",
        )
        assert first["spans"] == ITO["spans"]
        assert [row.plaintext for row in load(str(tmp_path), first["split"]).rows] == [ITO["text"]]
        web.post("/corrections", json={"forget": ["ITO K  foxes 2010"]})
        assert [one["text"] for one in web.get("/corrections").json()["references"]] == [
            "Other. 2011."
        ]
    kept = (tmp_path / FILE).read_text(encoding="utf-8")
    assert "Foxes" not in kept
    assert [json.loads(line)["text"] for line in kept.splitlines()] == ["Other. 2011."]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"references": [ITO | {"spans": [{"start": 9, "end": 99, "field": "year"}]}]},
         "Reference 'Ito K. Foxes. 2010.': year (9-99) is empty or ends after the reference."),
        ({"references": [ITO | {"spans": [*ITO["spans"], {"start": 2, "end": 6, "field": "issue"}]}]},  # type: ignore[misc]
         "Reference 'Ito K. Foxes. 2010.': surname (0-3) and issue (2-6) overlap."),
        ({"references": [{"text": 3}]}, "references.0.text: Input should be a valid string."),
        ([], "Input should be"),
    ],
)  # fmt: skip
def test_what_no_annotation_can_hold_is_refused_whole(
    tmp_path: Path, body: Any, sentence: str
) -> None:
    with CorrectionStore.open(tmp_path) as store:
        answer = client(store).post("/corrections", json=body)
        assert answer.status_code == 422
        assert sentence in answer.json()["detail"]
        assert not (tmp_path / FILE).exists()


def test_other_sites_cannot_make_a_browser_save(tmp_path: Path) -> None:
    with CorrectionStore.open(tmp_path) as store:
        answer = client(store).post(
            "/corrections",
            content=json.dumps({"references": [ITO]}),
            headers={"content-type": "text/plain"},
        )
        assert answer.status_code == 415
        assert store.all() == []


def test_without_a_folder_nothing_is_kept() -> None:
    answer = client(None).post("/corrections", json={"references": [ITO]})
    assert answer.status_code == 404
    assert "--corrections DIR" in answer.json()["detail"]


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from reno_dspy.service.corrections import CorrectionStore\n"
        "with CorrectionStore.open(Path(sys.argv[1])): print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=r"in use by process \d+.* name another --corrections"):
            CorrectionStore.open(tmp_path).__enter__()
        other.kill()
    with CorrectionStore.open(tmp_path) as store:
        assert store.all() == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"text": ""}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"corrections\.jsonl:1 is not a correction"):
        CorrectionStore.open(tmp_path).__enter__()
