"""A recording: where bodies are, and what each URL answers."""
