"""From PDF to text with columns in reading order."""
