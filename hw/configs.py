"""The named configurations."""
from systolith.hw.config import Config, ConfigError

_SIMULATED = (
    # Tests in seconds; memories large enough for a whole small model.
    Config(name="tiny", rows=4, cols=4, lanes=4, act_depth=16384, wgt_depth=8192, acc_depth=4096,
           vec_depth=16384, const_depth=1024, row_depth=1024, bus_bytes=4),
    # Rows differ from columns, and the vector unit is narrower than the array.
    Config(name="tall", rows=8, cols=4, lanes=2, act_depth=8192, wgt_depth=4096, acc_depth=4096,
           vec_depth=32768, const_depth=2048, row_depth=1024, bus_bytes=4),
    # The reference for figures.
    Config(name="sim16", rows=16, cols=16, lanes=16, act_depth=8192, wgt_depth=4096, acc_depth=2048,
           vec_depth=8192, const_depth=512, row_depth=1024, bus_bytes=16,
           ext_bytes=1 << 28),
    # The same array with the weights of a layer of SmolLM2 in the core.
    Config(name="deep16", rows=16, cols=16, lanes=16, act_depth=8192, wgt_depth=16384,
           acc_depth=2048, vec_depth=8192, const_depth=512, row_depth=1024, bus_bytes=16,
           ext_bytes=1 << 28),
)

_BOARDS = (
    # External memory is block RAM, too. The multipliers that the array leaves go to the vector
    # unit, six a lane.
    Config(name="ecp5-85f", rows=16, cols=8, lanes=4, act_depth=1024, wgt_depth=1024,
           acc_depth=1024, vec_depth=4096, const_depth=512, row_depth=512, bus_bytes=4,
           normalize_cycles=4, ext_bytes=1 << 16),
    Config(name="ecp5-25f", rows=4, cols=4, lanes=2, act_depth=2048, wgt_depth=1024,
           acc_depth=1024, vec_depth=2048, const_depth=512, row_depth=512, bus_bytes=4,
           normalize_cycles=4, ext_bytes=1 << 14),
    # Everything but activations and accumulators is in the four single-port RAMs.
    Config(name="ice40up5k", core="compact", rows=8, cols=2, lanes=2, act_depth=256, wgt_depth=4096,
           acc_depth=256, vec_depth=4096, const_depth=512, row_depth=512, queue_depth=128,
           bus_bytes=4, ext_bytes=1 << 15),
)

#: Those that are made for simulation, and all.
SIMULATED = {config.name: config for config in _SIMULATED}
CONFIGS = SIMULATED | {config.name: config for config in _BOARDS}


def get_config(name: str) -> Config:
    """The configuration of that name.

    Raises
    ------
    ConfigError
        When there is none; the message lists those that exist.
    """
    if name not in CONFIGS:
        raise ConfigError(f"unknown configuration {name!r}; choose one of {', '.join(CONFIGS)}")
    return CONFIGS[name]
