"""Downloading a platform's articles into a corpus."""
