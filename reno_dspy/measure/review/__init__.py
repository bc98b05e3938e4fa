"""Wrong values on a page for people to judge, and their verdicts read back."""
