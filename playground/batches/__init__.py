"""Many prompts at once: read from lists and files, run together where that changes nothing, kept in folders."""
