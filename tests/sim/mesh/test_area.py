"""What a router costs: counts and clock that the mesh's page names."""
import pytest

from systolith.hw.mesh.config import MeshConfig
from systolith.sim.flow.tools import FlowError, find_tool
from systolith.sim.mesh.area import BOARD, router_cells, router_mhz

CONFIG = MeshConfig(width=4, height=4, bus_bytes=4)


def need(tool):
    try:
        find_tool(tool)
    except FlowError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_a_queue_for_each_input_costs_less():
    need("yosys")
    many, few = (router_cells(CONFIG.replace(crosspoint=each)) for each in (True, False))
    assert few["lutram"] < many["lutram"]
    assert few["lut"] + 4 * few["lutram"] < many["lut"] + 4 * many["lutram"]
    assert few["ff"] < many["ff"]
    assert many["bram"] == many["dsp"] == 0


@pytest.mark.slow
def test_a_hop_fits_in_a_cycle_of_the_board():
    need("yosys")
    need("nextpnr-ecp5")
    assert router_mhz(CONFIG) > BOARD.clock_mhz
