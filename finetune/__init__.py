"""TRL and PEFT: rows through the programs' adapter, LoRA training, adapters on disk, serving."""
