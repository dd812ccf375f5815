"""Look-up of tokens: loads, and the addresses that the driver puts into them."""
import pytest

from systolith.hw.config import Region
from systolith.hw.isa import Engine, Load, Table
from systolith.sw.compiler import CompileError
from systolith.sw.compiler.tokens import check_tokens, token_loads, with_tokens


def test_loads_of_token_0():
    loads = list(token_loads(4096, 3, 64, 128))
    assert [load.base for load in loads] == [128, 192, 256]
    assert all(load.ext_base == 4096 and load.row_bytes == 64 and load.rows == 1
               and load.region == Region.VEC for load in loads)


def test_only_the_first_moves_get_addresses():
    other = Load(region=int(Region.WGT), rows=1, row_bytes=64, ext_base=64)
    commands = {Engine.MOVE: [*token_loads(4096, 2, 64, 0), other], Engine.VECTOR: [Table()]}
    result = with_tokens(commands, [5, 0])
    assert [move.ext_base for move in result[Engine.MOVE]] == [4096 + 5 * 64, 4096, 64]
    assert result[Engine.VECTOR] == [Table()]
    assert commands[Engine.MOVE][0].ext_base == 4096


def test_wrong_token():
    check_tokens([0, 9], 10, "m")
    with pytest.raises(CompileError, match="token 10 at place 1 is outside the vocabulary of m, "
                                           "which has tokens 0 to 9"):
        check_tokens([9, 10], 10, "m")
