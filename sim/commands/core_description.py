"""The description of a generated peripheral for FuseSoC."""
import importlib.metadata
import re

from systolith.hw.config import Config

#: A core description of version 2: "CAPI2 reference" of FuseSoC's manual.
_DESCRIPTION = """\
CAPI=2:
name: systolith:accelerator:{name}:{version}
description: An INT8 transformer accelerator behind Wishbone buses ({config})
filesets:
  rtl:
    files: [{top}.v: {{file_type: verilogSource}}]
targets:
  default: &default
    filesets: [rtl]
    toplevel: {top}
  lint:
    <<: *default
    description: Check the Verilog with Verilator
    flow: lint
    flow_options:
      tool: verilator
      mode: lint-only
"""


def core_description(config: Config, *, top: str) -> str:
    """Text of a core file for the module ``top`` in the file ``top.v`` beside it.

    The core is named after its configuration, with ``_`` for what FuseSoC does not allow in names.
    """
    return _DESCRIPTION.format(name=re.sub(r"\W", "_", config.name), config=config.name, top=top,
                               version=importlib.metadata.version("systolith"))
