"""A reference as JATS: reading, placing, rendering, writing."""
