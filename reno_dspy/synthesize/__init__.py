"""References rendered by a CSL processor in real styles, as rows whose values stand in place."""
