"""From text to reference strings, by rules."""
