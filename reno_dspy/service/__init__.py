"""Annotating over HTTP: the service, its page, and the corrections made there."""
