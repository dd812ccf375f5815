"""Makes the identifiers of a Verilog text plain: letters, digits and underscores."""
import re

#: Keywords of SystemVerilog (IEEE 1800-2023, annex B): tools that read Verilog may reserve them.
_KEYWORDS_TEXT = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually
expect export extends extern final first_match for force foreach forever fork forkjoin function
generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
import incdir include initial inout input inside instance int integer interconnect interface
intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive
priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on
release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually
s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran
tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())

_ESCAPED = re.compile(r"\\(\S+) ")
_MODULE = re.compile(r"^module (?:\\(\S+) |(\w+))\s*\(.*?^endmodule$", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (?:\\(\S+) |(\w+)) +(?:\\(\S+) |(\w+)) +\(\n(.*?)^  \);",
                       re.MULTILINE | re.DOTALL)
_CONNECTION = re.compile(r"^    \.(?:\\(\S+) |(\w+))\(", re.MULTILINE)


class _Names:
    """Plain, distinct names for escaped ones; what is plain already keeps its name."""

    def __init__(self, taken):
        self._taken = set(taken)
        self._plain = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._plain:
            # Amaranth makes names distinct with a number that counts all signals of the design:
            # left out, a change elsewhere does not rename this one.
            stem = re.sub(r"\W+", "_", re.sub(r"\$\d+", "", name)).strip("_") or "signal"
            stem = f"n{stem}" if stem[0].isdigit() else stem
            self._plain[name] = self._free(f"{stem}_" if stem in _KEYWORDS else stem)
            self._taken.add(self._plain[name])
        return self._plain[name]

    def _free(self, stem: str) -> str:
        choice, number = stem, 1
        while choice in self._taken:
            number += 1
            choice = f"{stem}_{number}"
        return choice


def plain_names(text: str) -> str:
    """The text of Yosys' ``write_verilog`` with plain identifiers, distinct in their module."""
    found = list(_MODULE.finditer(text))
    modules = _Names(match[2] for match in found if match[2])
    inside = {match[1] or match[2]: _Names(_plain_words(match[0])) for match in found}
    return "\n\n".join(_rename(match, modules, inside) for match in found) + "\n"


def _plain_words(body: str):
    return re.findall(r"(?<!\\)\b[A-Za-z_]\w*", _ESCAPED.sub(" ", body))


def _rename(match, modules: _Names, inside) -> str:
    names = inside[match[1] or match[2]]

    def instance(found):
        child = inside.get(found[1] or found[2])
        connections = found[5]
        if child is not None:
            connections = _CONNECTION.sub(
                lambda c: f"    .{child[c[1]] if c[1] else c[2]}(", connections)
        kind = modules[found[1]] if found[1] else found[2]
        label = names[found[3]] if found[3] else found[4]
        return f"  {kind} {label} (\n{connections}  );"

    body = _INSTANCE.sub(instance, match[0])
    if match[1]:
        body = body.replace(f"\\{match[1]} ", f"{modules[match[1]]} ", 1)
    return _ESCAPED.sub(lambda escaped: names[escaped[1]], body)
