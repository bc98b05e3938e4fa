"""Training: rows, SFT with LoRA, checkpoints, measuring on dev."""
