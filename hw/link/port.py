"""Between the executor of requests and what it reaches."""
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class Access(data.StructLayout):
    """One access to a word at a byte address, of external memory or of the chip."""

    def __init__(self):
        super().__init__({"write": 1, "external": 1, "address": 32, "data": 32})


class AccessPort(wiring.Signature):
    """Accesses in order, and the words that were read, seen from who asks."""

    def __init__(self):
        super().__init__({"request": Out(stream.Signature(Access())),
                          "response": In(stream.Signature(32))})
