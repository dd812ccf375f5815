"""Runs a coroutine on a small component in Amaranth's simulator."""
from amaranth.sim import Simulator


def simulate(dut, bench):
    """Reset-free: ``bench`` gets the context and drives everything."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
