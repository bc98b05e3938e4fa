"""The conditional random field that ships: the classical baseline."""
