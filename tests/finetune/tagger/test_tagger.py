"""The tagger: legal sequences, targets, context, training, and annotations that invent nothing."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from finetune.base import TINY, resolve_base
from finetune.models import load_tokenizer
from finetune.recipe import RECIPES, FinetuneConfig, Lora, TaggerOptions
from finetune.serving.embedded import EmbeddedSystem
from finetune.serving.job import find_models
from finetune.tagger.encoding import Context, encode
from finetune.tagger.model import score
from finetune.tagger.system import Tagger
from finetune.training.data import load_data
from finetune.training.loop import FinetuneResult
from finetune.training.tagger import CausalTaggerTrainer, new_model, train_tagger
from finetune.training.targets import Targets, labels_for
from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import NullRun, NullTracker, Tracker
from reno_dspy.cli.main import group
from reno_dspy.data.lessons import Lesson
from reno_dspy.jats.citation import parse, read, text_of
from reno_dspy.jats.spans import Span, project
from reno_dspy.measure.result import read_report
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.tagger.labels import Labels, joined
from reno_dspy.systems.tokens import tokenize


def lesson(xml: str) -> Lesson:
    plaintext = text_of(parse(xml))
    projection = project(plaintext, xml)
    return Lesson(plaintext, projection.spans, projection.publication_type)


SPLIT = lesson(
    '<mixed-citation publication-type="book"><person-group person-group-type="author"><string-name>'
    "<surname>Veldt</surname>, <given-names>A.</given-names></string-name></person-group> "
    "(<year>1999</year>). <source>Paper tides</source>.</mixed-citation>"
)
WHOLE = lesson(
    '<mixed-citation publication-type="web"><person-group person-group-type="author">Marsh, B. and '
    "Odd, C.</person-group> <source>Moss clocks</source>.</mixed-citation>"
)


def test_targets_say_what_is_known_and_leave_whole_names_open() -> None:
    labels = labels_for([SPLIT, WHOLE], min_count=1)
    assert labels.types == ("book", "webpage")
    made = Targets(labels)
    words = tokenize(SPLIT.plaintext)
    targets = made.of_words(words, SPLIT.spans)
    said = [labels.names[target] for target in targets]
    assert sorted(spans_of(words, said)) == sorted(SPLIT.spans)
    words = tokenize(WHOLE.plaintext)
    targets = made.of_words(words, WHOLE.spans)
    assert [
        word.text for word, t in zip(words, targets, strict=True) if t >= len(labels.names)
    ] == (["Marsh", ",", "B", ".", "and", "Odd", ",", "C", "."])
    parts = {"B-surname:author", "I-surname:author", "B-given-names:author", "I-given-names:author"}
    for target, right in ((targets[0], parts), (targets[1], parts | {"O"})):
        assert {name for name, is_right in zip(labels.names, made.sets()[target], strict=True)
                if is_right} == right  # fmt: skip
    assert made.of_type("patent") == -100


def test_a_title_is_one_over_punctuation_and_nothing_else() -> None:
    text = "Fog». Moss (Odd) Salt 2001 2001"
    spans = [Span(0, 3, "source"), Span(6, 10, "source"), Span(12, 15, "source"),
             Span(17, 21, "article-title"), Span(22, 26, "year"), Span(27, 31, "year")]  # fmt: skip
    assert joined(text, spans) == [Span(0, 10, "source"), *spans[2:]]


@pytest.mark.parametrize("issue", ["Suppl. 2", "37.1", "Supplement_5", "Supplement_ 4"])
def test_an_issue_is_one(issue: str) -> None:
    first = Span(0, len(re.split(r"[._ ]", issue)[0]), "issue")
    last = Span(len(issue) - 1, len(issue), "issue")
    assert joined(issue, [first, last]) == [Span(0, len(issue), "issue")]


@pytest.mark.parametrize("context", ["once", "twice", "both_ways"])
def test_every_word_is_read_at_its_own_last_token(context: Context) -> None:
    tokenizer = load_tokenizer(resolve_base(TINY))
    reference = "Ångström—Veldt  A. 「Paper」 1999;12(3):e45–9. doi:10.1/x_y"
    encoded = encode(reference, tokenizer, context)
    start = len(encoded.ids) // 2 if context == "twice" else 0
    for word, place in zip(encoded.words, encoded.places, strict=True):
        assert tokenizer.decode(encoded.ids[start : place + 1]).strip() == word.text
        start = place + 1
    assert start == len(encoded.ids) - 1


@pytest.mark.parametrize(("context", "sees"), [("once", 0), ("twice", 1), ("both_ways", 1)])
def test_what_follows_a_word_is_seen_as_the_context_says(context: Context, sees: int) -> None:
    base = resolve_base(TINY)
    tokenizer = load_tokenizer(base)
    options = TaggerOptions(context=context)
    model = new_model(base, options, 5, Lora()).eval()

    def first_word(reference: str) -> torch.Tensor:
        encoded = encode(reference, tokenizer, context)
        ids = torch.tensor([encoded.ids])
        read = torch.zeros_like(ids, dtype=torch.bool)
        read[0, encoded.places[0]] = True
        with torch.no_grad():
            return score(model, ids, torch.ones_like(ids, dtype=torch.bool), read, options)

    one, other = first_word("Veldt 1999"), first_word("Veldt 2024")
    assert torch.allclose(one, other, atol=1e-6) is not bool(sees)


class TaggerJob:
    """The tagger on the tiny base and our pairs."""

    def __init__(self, pairs: Path) -> None:
        self.pairs = pairs

    def config(self, out: Path, *sets: str, **flags: object) -> FinetuneConfig:
        chosen = {"base": TINY, "data": str(self.pairs), "out": out, "max_steps": 6, **flags}
        small = [
            "tagger.layers=2",
            "tagger.min_count=4",
            "save_every=2",
            "dev.every=3",
        ]
        return resolve(FinetuneConfig, RECIPES / "tagger-smollm2.yaml", chosen, [*small, *sets])

    def __call__(self, out: Path, tracker: Tracker | None = None, *sets: str) -> FinetuneResult:
        config = self.config(out, *sets)
        return train_tagger(config, load_data(config), tracker or NullTracker())


@pytest.fixture(scope="module")
def job(pairs: Path) -> TaggerJob:
    return TaggerJob(pairs)


@pytest.fixture(scope="module")
def trained(job: TaggerJob, tmp_path_factory: pytest.TempPathFactory) -> FinetuneResult:
    return job(tmp_path_factory.mktemp("tagger") / "run")


class Killed(BaseException):
    """The process ends here."""


class KillingTracker:
    @contextmanager
    def start(self, *args: Any, **kwargs: Any) -> Any:
        class Run(NullRun):
            def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
                if step == 5:
                    raise Killed

        yield Run()


def test_a_killed_training_resumes_to_the_same_weights(
    job: TaggerJob, trained: FinetuneResult, tmp_path: Path
) -> None:
    with pytest.raises(Killed):
        job(tmp_path / "run", KillingTracker())
    resumed = job(tmp_path / "run")
    assert resumed.adapter.digest == trained.adapter.digest
    assert resumed.losses == trained.losses
    assert trained.losses[6] < trained.losses[1]
    weights = load_file(trained.adapter.path / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert any("score" in name for name in weights)


def test_a_tagger_learns_its_lessons(pairs: Path, tmp_path: Path) -> None:
    sets = ("max_steps=60", "optimizer.learning_rate=0.02", "dev.every=60", "lora.rank=32")
    result = TaggerJob(pairs)(tmp_path / "run", None, *sets)
    assert result.best is not None
    assert result.best["recall/surname"] > 80
    assert result.best["recall"] > 60


def test_the_loss_is_of_the_right_labels_together() -> None:
    labels = Labels(("O", "B-surname:author", "I-surname:author", "B-year", "I-year"))
    trainer = CausalTaggerTrainer.__new__(CausalTaggerTrainer)
    trainer.accelerator = Accelerator(cpu=True)
    trainer._options, trainer._sets = TaggerOptions(), torch.from_numpy(Targets(labels).sets())
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0]])
    inputs = {"input_ids": torch.zeros(1, 1), "attention_mask": torch.ones(1, 1)}

    def loss(target: int) -> float:
        import finetune.training.tagger as module

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "score", lambda *_: logits)
            given = inputs | {"labels": torch.tensor([[target]])}
            return trainer.compute_loss(None, given).item()

    probabilities = logits.softmax(-1)[0]
    assert loss(3) == pytest.approx(-probabilities[3].log().item())
    assert loss(5) == pytest.approx(-probabilities[:3].sum().log().item(), rel=1e-5)
    assert loss(6) == pytest.approx(-probabilities[1:3].sum().log().item(), rel=1e-5)


@pytest.fixture(scope="module")
def tagger(trained: FinetuneResult) -> Tagger:
    system = Tagger(trained.adapter.path)
    asyncio.run(system.start())
    return system


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_keeps_its_characters_or_is_an_error(tagger: Tagger, texts: list[str]) -> None:
    for text, completion in zip(texts, asyncio.run(tagger.annotate(texts)), strict=True):
        if completion.error is None:
            assert read(completion.text).well_formed
            assert text_of(parse(completion.text)) == " ".join(text.split())
        else:
            assert "cannot stand in XML" in completion.error


def test_a_reference_is_annotated_alike_alone_and_among_others(tagger: Tagger) -> None:
    texts = ["Veldt A. Odd birds. J Fict. 2001;3(2):1-9.", "x " * 900, "Marsh B. Fog. 1999."]
    together = asyncio.run(tagger.annotate(texts))
    assert all(completion.error is None for completion in together)
    assert len(together[1].text) > 1800


def test_decomposed_letters_change_no_value_and_come_back_as_they_stood(tagger: Tagger) -> None:
    reference = (
        "[7] Tüfekçi Z, Świętosławski Ł. Über Füchse. Zeitschrift für Zoologie. 2010;12(3):2-9."
    )
    decomposed = unicodedata.normalize("NFD", reference)
    one, other = asyncio.run(tagger.annotate([reference, decomposed]))
    assert "".join(parse(other.text).itertext()) == decomposed
    assert unicodedata.normalize("NFC", other.text) == one.text
    assert "<label>[7]</label>" in one.text


def test_adapters_are_not_taken_for_one_another(
    trained: FinetuneResult, tiny_runs: tuple[FinetuneResult, FinetuneResult], job: TaggerJob,
    tmp_path: Path,
) -> None:  # fmt: skip
    with pytest.raises(InputError, match="language model's adapter"):
        Tagger(tiny_runs[0].adapter.path)
    with pytest.raises(InputError, match="tagger"):
        EmbeddedSystem(trained.adapter.path)
    with pytest.raises(InputError, match="is a tagger"):
        find_models(TINY, [trained.adapter.path])
    with pytest.raises(InputError, match="too_long"):
        job(tmp_path / "short", None, "max_length=16")
    with pytest.raises(InputError, match=r"tagger\.layers is 9"):
        job(tmp_path / "run", None, "tagger.layers=9")
    with pytest.raises(InputError, match="neither prompt nor thinking"):
        job.config(tmp_path / "run", prompt="brief")


def test_the_command_evaluates_a_tagger(
    trained: FinetuneResult, pairs: Path, tmp_path: Path
) -> None:
    command = [
        "evaluate", "--system", "tagger-smollm2", "--adapter", str(trained.adapter.path.parent),
        "--data", str(pairs), "--out", str(tmp_path / "run"), "--no-tracking",
    ]  # fmt: skip
    result = CliRunner().invoke(group, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    report = read_report(tmp_path / "run")
    assert (report.share("valid_xml"), report.share("fidelity")) == (100.0, 100.0)
