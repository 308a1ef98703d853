"""Follows a page of the manual: types its blocks of commands."""

import os
import pathlib
import pty
import re
import select
import sys
import textwrap

from waiting import wait


def blocks(page, language="sh"):
    """The text of each block in `language` on the page's main path, with its heading."""
    heading, found = "", []
    for part in re.split(r"^(#+ .*)$", pathlib.Path(page).read_text(), flags=re.MULTILINE):
        if part.startswith("#"):
            heading = part.lstrip("# 0123456789.")
            if heading.startswith(("Without", "By hand", "Other ")):
                break
        else:
            blocks_there = re.findall(rf"^ *```{language}\n(.*?)^ *```$", part, re.MULTILINE | re.DOTALL)
            found += [(heading, textwrap.dedent(block)) for block in blocks_there]
    return found


def below(page, heading, language="sh"):
    """The text of each block in `language` below `heading`."""
    found = [block for title, block in blocks(page, language) if title == heading]
    assert found, f"{page} has no block below {heading}"
    return found


def table(page):
    """The rows of the page's only table: lists of cells without the backticks of code."""
    lines = [line for line in pathlib.Path(page).read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip().replace("`", "") for cell in line.strip("| ").split(" | ")] for line in lines[1:]]


def type_at(argv, answers):
    """Runs `argv` on a terminal, and types the answer of the first pattern of `answers` that matches the output.

    Returns the terminal's output, and the number of typed answers.
    """
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(argv[0], argv)
    shown, asked, typed = "", 0, 0
    while True:
        wait(f"an output after:\n{shown[-1000:]}", lambda: select.select([terminal], [], [], 0)[0])
        try:
            shown += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other side has closed
            break
        for pattern, answer in answers:
            if found := re.search(pattern, shown[asked:]):
                os.write(terminal, f"{answer}\n".encode())
                asked, typed = asked + found.end(), typed + 1
                assert typed < 20, f"the same is asked again and again:\n{shown[-1000:]}"
                break
    _, status = os.waitpid(process, 0)
    assert status == 0, f"status {os.waitstatus_to_exitcode(status)} of {argv[-1]}\n{shown[-3000:]}"
    return shown, typed


if __name__ == "__main__":  # page.py FILE HEADING: prints the commands below the heading that begins with HEADING
    print(*(block for heading, block in blocks(sys.argv[1]) if heading.startswith(sys.argv[2])))
