"""Leaves pages out of the navigation while their file is not there yet."""

from pathlib import Path


def on_config(config):
    config.nav = [
        entry for entry in config.nav if all((Path(config.docs_dir) / page).exists() for page in entry.values())
    ]
    return config
