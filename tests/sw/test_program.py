"""Program files: what is saved comes back, and damage is found."""
import json
import zipfile

import pytest

from systolith.hw.config import Region
from systolith.hw.configs import get_config
from systolith.hw.isa import Engine, Pass, Product, Sink
from systolith.sw.runtime.functional import FunctionalDevice
from systolith.sw.runtime.program import Program, ProgramError, Section, load_program

CONFIG = get_config("tiny")
PROGRAM = Program(CONFIG, {
    Engine.MATRIX: [Product(count0=1, count1=1, count2=1, signal=1)],
    Engine.VECTOR: [Pass(rows=1, beats=1, valid=4, sink=Sink.VEC, wait=1)],
}, (Section("a", Region.ACT, 0, bytes([1, 2, 3, 4])), Section("b", "ext", 8, bytes(8))), "test", 16)


def test_round_trip(tmp_path):
    path = tmp_path / "p.systolith"
    PROGRAM.save(path)
    loaded = load_program(path)
    assert loaded.words() == PROGRAM.words()
    assert loaded.sections == PROGRAM.sections
    assert (loaded.model, loaded.macs, loaded.digest) == ("test", 16, PROGRAM.digest)


def test_the_image_reaches_the_device():
    device = FunctionalDevice(CONFIG)
    PROGRAM.load(device)
    assert device.read(Region.ACT, 0, 4) == bytes([1, 2, 3, 4])


def test_another_configuration_is_refused():
    with pytest.raises(ProgramError) as error:
        PROGRAM.load(FunctionalDevice(get_config("tall")))
    assert str(error.value) == (
        f"the program was compiled for configuration 'tiny' (ID {CONFIG.identity:#010x}), "
        f"but the device is 'tall' (ID {get_config('tall').identity:#010x}); "
        "compile it again for the device")


def test_a_file_cut_short_is_refused(tmp_path):
    path = tmp_path / "p.systolith"
    PROGRAM.save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ProgramError, match=r"p\.systolith is no readable program file"):
        load_program(path)


def test_a_changed_byte_is_found(tmp_path):
    path, other = tmp_path / "p.systolith", tmp_path / "q.systolith"
    PROGRAM.save(path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, b"\1\2\3\5" if name == "section0.bin" else data)
    with pytest.raises(ProgramError, match="is damaged: its digest is"):
        load_program(other)


@pytest.mark.parametrize(("change", "message"), [
    ({"digest": None}, "'digest' in the manifest must be of type str, not None"),
    ({"format": 2}, "its format is 2, this reads format 1"),
    ({"sections": [{"name": "a", "memory": "MOON", "offset": 0}]}, "'MOON', which is no memory"),
    ({"sections": [3]}, "section 0 of the manifest is no JSON object"),
])
def test_a_wrong_manifest_is_refused(tmp_path, change, message):
    path, other = tmp_path / "p.systolith", tmp_path / "q.systolith"
    PROGRAM.save(path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "manifest.json":
                data = json.dumps(json.loads(data) | change).encode()
            target.writestr(name, data)
    with pytest.raises(ProgramError, match=r"q\.systolith is no readable program file") as error:
        load_program(other)
    assert message in str(error.value)


def test_an_unnamed_configuration_is_refused_unless_given(tmp_path):
    path, odd = tmp_path / "p.systolith", CONFIG.replace(name="odd", row_depth=512)
    Program(odd, PROGRAM.commands).save(path)
    with pytest.raises(ProgramError, match="'odd' with ID"):
        load_program(path)
    assert load_program(path, odd).config == odd
