"""The named configurations."""
from systolith.hw.config import Config, ConfigError

_CONFIGS = (
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
)

CONFIGS = {config.name: config for config in _CONFIGS}


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
