"""What needs a vector unit is refused for a core that has none, before anything else is said."""
import numpy as np
import pytest

from systolith.hw.configs import CONFIGS, get_config
from systolith.hw.isa import Cause, Pass, Table
from systolith.sw.compiler import CompileError, compile_product
from systolith.sw.compiler.attention_alone import compile_attention_alone
from systolith.sw.compiler.verifier import VerifyError, verify
from systolith.sw.decoder import compile_decoder
from systolith.sw.encoder import compile_encoder
from systolith.sw.models import load_model
from systolith.sw.reference.addressing import CommandFault, check
from tests.sw.encoders import quantized, random_encoder
from tests.sw.layers import compiled, random_layer

COMPACT = get_config("ice40up5k")


@pytest.mark.parametrize(("what", "compile_it"), [
    ("a product 5x6x7", lambda: compile_product(COMPACT, m=5, k=6, n=7)),
    ("a product 1x1x1", lambda: compile_product(COMPACT, m=1, k=1, n=1, resident=False)),
    ("attention of 1 heads of 4 at length 3",
     lambda: compile_attention_alone(COMPACT, length=3, heads=1, head_dim=4)),
    ("attention at length 3",
     lambda: compiled(rng(), random_layer(rng()), COMPACT, 3)),
    ("mathformer-mul", lambda: compile_decoder(load_model("mathformer-mul"), COMPACT)),
    ("an encoder", lambda: compile_encoder(quantized(random_encoder()), COMPACT, length=3)),
])
def test_it_is_refused_with_what_to_choose(what, compile_it):
    with pytest.raises(CompileError) as error:
        compile_it()
    assert str(error.value) == (
        f"{what} needs a vector unit, but configuration 'ice40up5k' has a compact core, which only "
        "moves and multiplies; choose one of tiny, tall, sim16, deep16, ecp5-85f, "
        "ecp5-85f-256, ecp5-25f")


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("command", [Pass(rows=1, beats=1), Pass(), Table()])
def test_its_commands_are_illegal(command):
    with pytest.raises(CommandFault, match="configuration ice40up5k has no vector unit") as fault:
        check(command, COMPACT)
    assert fault.value.cause == Cause.ILLEGAL
    with pytest.raises(VerifyError, match="no vector unit"):
        verify(COMPACT, {command.ENGINE: [command]})


def test_no_other_configuration_is_compact():
    assert [name for name, config in CONFIGS.items() if config.compact] == ["ice40up5k"]
