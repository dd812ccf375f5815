"""Rewrites operators of an RTLIL netlist so that Verilog tools have nothing to warn about.

RTLIL operators extend their operands by themselves; in Verilog the same is legal, but each lint
tool warns. Here both operands get the width that the operator works at, and multiplexers with
many selectors become chains of plain ones. The function of the netlist stays.
"""
import re

_COMPARE = {"$eq", "$ne", "$lt", "$le", "$gt", "$ge"}
_ARITHMETIC = {"$add", "$sub", "$and", "$or", "$xor", "$xnor"}
_UNARY = {"$not", "$neg", "$pos"}
_SHIFT = {"$shl", "$shr", "$sshl", "$sshr"}
#: Shifts to either side. They become plain ones where the amount is not negative.
_SELECT = {"$shift", "$shiftx"}
_REWRITTEN = {*_COMPARE, *_ARITHMETIC, *_UNARY, *_SHIFT, *_SELECT, "$logic_not", "$pmux"}

_WIRE = re.compile(r"^  wire (?:width (\d+) )?.*?(\S+)$")
_CELL = re.compile(r"^  cell (\S+) (\S+)$")
_TOKEN = re.compile(r"(\d+)'([01xzm-]+)|([\\$]\S+)(?: \[(\d+)(?::(\d+))?\])?|(-?\d+)")


class Bits:
    """A signal as pieces, the most significant first: constant text, or (wire, high, low)."""

    def __init__(self, pieces):
        self.pieces = pieces

    @classmethod
    def parse(cls, text: str, widths) -> "Bits":
        """From RTLIL, with the widths of the module's wires."""
        pieces = []
        for size, constant, wire, high, low, integer in _TOKEN.findall(text):
            if constant:
                # Digits left away repeat the first one when it is undefined.
                fill = "0" if constant[0] in "01" else constant[0]
                pieces.append(constant.rjust(int(size), fill))
            elif integer:
                pieces.append(f"{int(integer) % (1 << 32):032b}")
            else:
                top = int(high) if high else widths[wire] - 1
                pieces.append((wire, top, int(low) if low else top if high else 0))
        return cls(pieces)

    def __str__(self) -> str:
        parts = [f"{len(p)}'{p}" if isinstance(p, str) else f"{p[0]} [{p[1]}:{p[2]}]"
                 for p in self.pieces]
        return parts[0] if len(parts) == 1 else f"{{ {' '.join(parts)} }}"

    def __len__(self) -> int:
        return sum(len(p) if isinstance(p, str) else p[1] - p[2] + 1 for p in self.pieces)

    def part(self, low: int, width: int) -> "Bits":
        """``width`` bits from bit ``low`` on."""
        pieces, at = [], len(self)
        for piece in self.pieces:
            size = len(Bits([piece]))
            at -= size
            first, last = max(low - at, 0), min(low + width - at, size)
            if first < last and isinstance(piece, str):
                pieces.append(piece[size - last:size - first])
            elif first < last:
                pieces.append((piece[0], piece[2] + last - 1, piece[2] + first))
        return Bits(pieces)

    def resized(self, width: int, signed: bool) -> "Bits":
        """Cut or extended to a width."""
        missing = width - len(self)
        if missing <= 0:
            return self.part(0, width)
        sign = self.part(len(self) - 1, 1).pieces[0] if signed else "0"
        fill = [sign * missing] if isinstance(sign, str) else [sign] * missing
        return Bits([*fill, *self.pieces])


class _Module:
    """Rewrites the cells of one module."""

    def __init__(self):
        self.widths = {}
        self._count = 0

    def wire(self, width: int) -> tuple[str, Bits]:
        """A new wire: its declaration, and it."""
        name = f"$sized${self._count}"
        self._count += 1
        self.widths[name] = width
        return f"  wire width {width} {name}", Bits([(name, width - 1, 0)])

    def rewrite(self, kind: str, name: str, parameters, ports) -> list[str]:
        """Lines for a cell."""
        bits = {port: Bits.parse(text, self.widths) for port, text in ports.items()}
        if kind == "$pmux":
            return self._chain(name, bits)
        if kind == "$logic_not":
            zeros = Bits(["0" * len(bits["A"])])
            return _binary("$eq", name, bits["A"], zeros, bits["Y"], False)
        a_signed = parameters["A_SIGNED"] == "1"
        if kind in _SELECT:
            sign = bits["B"].part(len(bits["B"]) - 1, 1).pieces[0]
            if parameters["B_SIGNED"] == "1" and sign != "0":
                raise ValueError(f"{name} shifts by an amount that may be negative")
            kind = "$shr"
        if kind in _SHIFT:
            return self._shift(kind, name, bits, a_signed)
        if kind in _UNARY:
            a = bits["A"].resized(len(bits["Y"]), a_signed)
            return _cell(kind, name, {"A_SIGNED": 0, "A_WIDTH": len(a), "Y_WIDTH": len(bits["Y"])},
                         {"A": a, "Y": bits["Y"]})
        signed = a_signed and parameters["B_SIGNED"] == "1"
        compare = kind in _COMPARE
        width = max(len(bits["A"]), len(bits["B"])) if compare else len(bits["Y"])
        a, b = (bits[port].resized(width, signed) for port in "AB")
        # Between operands of equal width the sign matters for an order only.
        return _binary(kind, name, a, b, bits["Y"], signed and compare)

    def _shift(self, kind, name, bits, signed) -> list[str]:
        width = max(len(bits["A"]), len(bits["Y"]))
        a, lines, y = bits["A"].resized(width, signed), [], bits["Y"]
        if width > len(y):
            declaration, wide = self.wire(width)
            lines = [declaration, f"  connect {y} {wide.part(0, len(y))}"]
            y = wide
        return lines + _binary(kind, name, a, bits["B"], y, signed, b_signed=False)

    def _chain(self, name, bits) -> list[str]:
        """The first selector that is set decides; without any it is A."""
        width, count = len(bits["Y"]), len(bits["S"])
        lines, below = [], bits["A"]
        for index in reversed(range(count)):
            result = bits["Y"]
            if index:
                declaration, result = self.wire(width)
                lines.append(declaration)
            lines += _cell("$mux", f"{name}_{index}", {"WIDTH": width}, {
                "A": below, "B": bits["B"].part(index * width, width),
                "S": bits["S"].part(index, 1), "Y": result})
            below = result
        return lines


def _binary(kind, name, a, b, y, signed, b_signed=None) -> list[str]:
    b_signed = signed if b_signed is None else b_signed
    return _cell(kind, name, {"A_SIGNED": int(signed), "A_WIDTH": len(a), "B_SIGNED": int(b_signed),
                              "B_WIDTH": len(b), "Y_WIDTH": len(y)}, {"A": a, "B": b, "Y": y})


def _cell(kind, name, parameters, ports) -> list[str]:
    return [f"  cell {kind} {name}",
            *(f"    parameter \\{key} {value}" for key, value in parameters.items()),
            *(f"    connect \\{port} {bits}" for port, bits in ports.items()), "  end"]


def equalize_widths(rtlil: str) -> str:
    """The RTLIL text, without processes, after the rewrite."""
    result, module, lines = [], _Module(), iter(rtlil.splitlines())
    for line in lines:
        if line.startswith("module "):
            module = _Module()
        elif line.startswith("  wire "):
            width, name = _WIRE.match(line).groups()
            module.widths[name] = int(width or 1)
        cell = _CELL.match(line)
        if cell and cell[1] in _REWRITTEN:
            result += module.rewrite(cell[1], cell[2], *_body(lines))
        else:
            result.append(line)
    return "\n".join(result) + "\n"


def _body(lines) -> tuple[dict, dict]:
    """Parameters and connections of a cell, up to its end."""
    parameters, ports = {}, {}
    for line in lines:
        words = line.split(maxsplit=2)
        if words[0] == "end":
            return parameters, ports
        if words[0] in ("parameter", "connect"):
            target = parameters if words[0] == "parameter" else ports
            target[words[1][1:]] = words[2]
    raise ValueError("a cell has no end")
