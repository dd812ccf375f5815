"""Reports as text."""
from systolith.sim.text import print_table

HEADS = ("name", "a long heading of a column", "another one that takes room")


def test_tables_are_whole_where_no_terminal_sets_a_width(capsys):
    name = "a-name-of-" + 70 * "x"
    print_table(HEADS, [(name, "1", "2")])
    head, rule, row, *_ = capsys.readouterr().out.splitlines()
    assert row.split() == [name, "1", "2"]
    assert head.endswith(HEADS[-1])
    assert len(rule) == len(head)


def test_columns_after_the_first_are_numbers(capsys):
    print_table(("n", "value"), [("a", "1"), ("b", "1,000")])
    assert [line[-5:] for line in capsys.readouterr().out.splitlines()[2:4]] == ["    1", "1,000"]
