"""The command bench."""
from systolith.sim.results_page import BEGIN, END
from tests.sim.cli.invoke import check_refused, result_of, systolith


def test_bench_measures():
    names = ["minilm-128-qkvo", "attention-32-h32"]
    result = result_of("bench", *names, "--device", "functional")
    assert [each["name"] for each in result] == names
    for each in result:
        assert (each["config"], each["bit_exact"], each["cycles"]) == ("sim16", True, None)
    assert result[0]["macs"] == 128 * 384 * 384
    assert "% of limit" in systolith("bench", *names, "--device", "functional").stdout


def test_bench_lists_names_and_which_are_slow():
    lines = systolith("bench", "--list").stdout.splitlines()
    assert "ragged-3x3x3" in lines
    assert "model-minilm-128 (slow)" in lines
    assert systolith("bench", "model-minilm-128", "--list").stdout == "model-minilm-128\n"
    assert "model-minilm-128" in systolith("bench", "--all", "--list").stdout.splitlines()


def test_bench_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_refused(systolith("bench", "ragged-3x3x3", "--write"), 2, "docs/results.md, which is not")
    check_refused(systolith("bench", "ragged-3x3x3", "--write", "--device", "functional"), 2,
                  "--write needs --device rtl")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "results.md"
    page.write_text(f"top\n{BEGIN}\n## Kept\n\nk\n\n{END}end\n")
    assert systolith("bench", "ragged-3x3x3", "--write").exit_code == 0
    text = page.read_text()
    assert text.startswith("top\n")
    assert "## Kept\n\nk\n" in text
    assert "| ragged-3x3x3 | yes |" in text.partition("## Matrix products")[2]


def test_bench_refuses_an_unknown_name():
    check_refused(systolith("bench", "fast"), 2,
                  "unknown benchmark 'fast'; choose a group (product, ragged, minilm,")
