"""What the documents say is so: examples run, commands parse, links lead somewhere."""
import doctest
import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from systolith.hw.document import isa_markdown
from systolith.sim.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: A link or picture of Markdown that names a file here.
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")
COMMANDS = typer.main.get_command(app).commands


def page_id(path):
    return path.relative_to(ROOT).as_posix()


def without_examples(text):
    """The text without blocks of code, in which brackets are no links."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def shell_lines(text):
    """The `systolith` commands in blocks of shell code."""
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(systolith .*)", block, re.MULTILINE)


def parse(line):
    """Let the command of a line take its arguments, without running it."""
    _, name, *arguments = shlex.split(line, comments=True)
    COMMANDS[name].make_context(name, arguments)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_python_examples_give_what_they_show(page):
    # The fence that ends a block would count as output of the last example.
    text = re.sub(r"^```$", "", page.read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, page_id(page), str(page), 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page):
    targets = LINK.findall(without_examples(page.read_text()))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_shell_examples_parse(page):
    for line in shell_lines(page.read_text()):
        parse(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help_parse(name):
    lines = [line.strip() for line in COMMANDS[name].epilog.splitlines()
             if line.strip().startswith("systolith ")]
    assert lines
    for line in lines:
        parse(line)


def test_the_page_of_the_isa_is_up_to_date():
    assert (ROOT / "docs" / "isa.md").read_text() == isa_markdown(), "run `make docs`"


@pytest.mark.slow
def test_the_readme_shows_the_report_of_make_sim():
    shown = re.search(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(),
                      re.MULTILINE | re.DOTALL)[1]
    printed = CliRunner().invoke(app, ["run"], env={"COLUMNS": "80"}).stdout
    assert printed.strip() == shown.strip(), "paste what `systolith run` prints"


def test_the_readme_lists_all_commands():
    listed = re.findall(r"^\| `systolith ([\w-]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert listed == list(COMMANDS)


def test_the_readme_names_the_two_commands_of_the_makefile():
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert set(named) <= set(targets)
    assert {"sim", "test"} <= set(named)
