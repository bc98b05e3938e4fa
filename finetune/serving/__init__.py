"""Serving a base model with its adapters, and the embedded system."""
