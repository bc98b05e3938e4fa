"""The system `tagger`: the model that ships, or one of your own, in onnxruntime.

    reno annotate refs.txt --system tagger --out refs.xml [--adapter RUN]

A model directory holds `model.onnx`, `tokenizer.json` and `manifest.json`, as `reno finetune
tagger` writes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reno_dspy.base.engine import cores
from reno_dspy.base.errors import InputError
from reno_dspy.systems import Completion
from reno_dspy.systems.batches import Annotated, complete_batch
from reno_dspy.systems.calibration import (
    calibrated,
    calibration_file,
    identity_of,
    load_calibration,
)
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.tagger.encoding import Pieces
from reno_dspy.systems.tagger.labelling import Labeller
from reno_dspy.systems.tagger.labels import Labels
from reno_dspy.systems.tagger.manifest import MODEL, TOKENIZER, TaggerModel, load_tagger

# The model that ships: `reno finetune tagger` on the rows of benchmarks/tagger.py.
SHIPPED = Path(__file__).with_name("shipped")


class Tagger:
    """A tagger as a `reno_dspy.systems.System`; the one that ships by default."""

    name = "tagger"
    # Many at once, so that references of like length share a pass.
    batch_size = 256
    concurrency = 1

    def __init__(self, adapter: Path = SHIPPED) -> None:
        """Check the model directory `adapter`. Raises InputError when it is none."""
        self._model = load_tagger(adapter)
        self._labeller: Labeller | None = None
        self.calibration_file = calibration_file(self._model.path / MODEL)
        self.calibration = load_calibration(self.calibration_file, self.model_digest)

    @property
    def model_digest(self) -> str:
        """The digest of the weights."""
        return self._model.digest

    @classmethod
    def from_options(cls, options: SystemOptions, _log: Path) -> Self:
        """The tagger in `options.adapter`, or the one that ships."""
        return cls(options.adapter or SHIPPED)

    def identity(self) -> Mapping[str, str]:
        """The model and its calibration, by digest."""
        known = identity_of(self.calibration)
        return {"model": self._model.name(), "model_digest": self.model_digest, **known}

    async def start(self) -> None:
        """Load the model. Raises InputError when onnxruntime cannot."""
        if self._labeller is None:
            self._labeller = await asyncio.to_thread(open_labeller, self._model)

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references together; one that XML cannot hold is an error row."""
        return await asyncio.to_thread(complete_batch, self._annotated, references)

    def _annotated(self, references: Sequence[str]) -> list[Annotated]:
        assert self._labeller, "start() comes first"
        return calibrated(self.calibration, self._labeller.annotate(references))


def open_labeller(model: TaggerModel) -> Labeller:
    """`model` ready to answer, on as many threads as this process should use."""
    manifest = model.manifest
    network = OnnxNetwork(model.path / MODEL)
    labels = Labels(manifest.labels)
    pieces = Pieces(model.path / TOKENIZER)
    return Labeller(network, pieces, labels, manifest.longest, cores())


class OnnxNetwork:
    """An exported encoder (`finetune.training.export`) in onnxruntime."""

    def __init__(self, file: Path) -> None:
        # Loading it takes longer than reading a reference with the CRF: only when it is needed.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One thread for each pass: several passes at once scale better than threads inside of one.
        options.intra_op_num_threads = 1
        # More would fuse sums and norms into an operator that is slower (`finetune.training.export`).
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(file), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            # onnxruntime raises a family of its own, and RuntimeError.
            raise InputError(f"{file} cannot be loaded by onnxruntime: {error}") from error

    def __call__(
        self, ids: NDArray[np.int64], mask: NDArray[np.int32], read: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Logits (n, labels) at `read`; see `labelling.Network`."""
        logits: NDArray[np.float32] = self._session.run(
            None, {"ids": ids, "mask": mask, "read": read}
        )[0]
        return logits
