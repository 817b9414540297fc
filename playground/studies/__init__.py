"""Runs compared: steps x seeds, families side by side, speed against length and batch."""
