"""``systolith configs``: the named configurations and their sizes."""
import dataclasses

from systolith.hw.config import MEMORIES, Config
from systolith.hw.configs import CONFIGS
from systolith.sim.text import print_table, size


def as_json() -> dict[str, object]:
    """All sizes of every named configuration, by name."""
    return {"configs": {name: _sizes(config) for name, config in CONFIGS.items()}}


def _sizes(config: Config) -> dict[str, object]:
    return {**dataclasses.asdict(config), "peak_macs_per_cycle": config.peak_macs_per_cycle,
            "identity": f"{config.identity:#010x}",
            "memory_bytes": {region.name.lower(): config.region_bytes(region)
                             for region in MEMORIES}}


def print_configs() -> None:
    """One column a configuration."""
    configs = CONFIGS.values()
    rows = {
        "core": [config.microarchitecture for config in configs],
        "cells": [f"{config.rows} x {config.cols}" for config in configs],
        "of these in tables of logic": [str(config.rows * config.lut_columns)
                                        for config in configs],
        "lanes": [str(config.lanes) for config in configs],
        "bus bytes": [str(config.bus_bytes) for config in configs],
        **{f"{region.name} memory": [size(config.region_bytes(region)) for config in configs]
           for region in MEMORIES},
        "external memory": [size(config.ext_bytes) for config in configs],
        "ID": [f"{config.identity:08x}" for config in configs],
    }
    print_table(("", *CONFIGS), ([name, *cells] for name, cells in rows.items()))
