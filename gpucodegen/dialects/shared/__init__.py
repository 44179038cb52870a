"""Definitions that operations of several dialects share."""
