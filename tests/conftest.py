"""Settings shared by all tests, and the option that picks a share of them."""
import os
import shutil
import zlib

import pytest

# The Yosys that Amaranth brings writes the Verilog, whatever is on PATH.
os.environ["AMARANTH_USE_YOSYS"] = "builtin"

# A simulation that does not end is a failure, not a hang: the cocotb runner puts this in front of
# its command.
if shutil.which("timeout"):
    os.environ.setdefault("SIM_CMD_PREFIX", "timeout 900")


def _share(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdigit() and count.isdigit() and int(index) < int(count)):
        raise pytest.UsageError(f"--share must be INDEX/COUNT with INDEX below COUNT, not {text!r}")
    return int(index), int(count)


def pytest_addoption(parser):
    parser.addoption("--share", metavar="INDEX/COUNT",
                     help="run only one share of the tests, chosen by the hash of their names")


# Last, so that the shares are taken of what -m and -k leave.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if chosen := config.getoption("--share"):
        index, count = _share(chosen)
        keep = [item for item in items if zlib.crc32(item.nodeid.encode()) % count == index]
        config.hook.pytest_deselected(items=[item for item in items if item not in keep])
        items[:] = keep


def pytest_sessionfinish(session, exitstatus):
    # A share may be empty; that is no failure.
    if session.config.getoption("--share") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
