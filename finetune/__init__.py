"""TRL and PEFT: rows through the programs' adapter, LoRA training, adapters on disk, serving."""

import os

# Before torch is loaded: its threads then sleep at a barrier instead of spinning. Where another process
# wants a core, a spinning thread keeps off the one it waits for (docs/log/2026-11.md: 20 times slower).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# torch and oneDNN each keep what they made for the last 1,024 shapes of a product, and every batch has
# shapes of its own, so that memory grew. Decoding needs a handful.
os.environ.setdefault("LRU_CACHE_CAPACITY", "32")
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
