"""The processes of one training run: `accelerate launch` starts one for each GPU.

The first of them, the main one, alone writes: run directory, tracker, figures on dev, adapter.
"""

from __future__ import annotations

from datetime import timedelta

import torch
from accelerate import PartialState

from reno_dspy.base.errors import InputError

# The others wait while the main one converts a base or measures on dev.
_PATIENCE = timedelta(hours=2)


def processes() -> PartialState:
    """This process among those of the run; alone where none were launched.

    Raises InputError when one process has several GPUs.
    """
    here = PartialState(cpu=not torch.cuda.is_available(), timeout=_PATIENCE)
    if here.num_processes == 1 and (count := torch.cuda.device_count()) > 1:
        # transformers would copy the model to all of them at each step (DataParallel).
        raise InputError(
            f"There are {count} GPUs here. Start a process for each (accelerate launch --multi_gpu "
            f"--num_processes {count} -m reno_dspy.cli finetune ...), or choose one "
            "(CUDA_VISIBLE_DEVICES=0 reno finetune ...)."
        )
    return here
