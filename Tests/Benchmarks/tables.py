"""Figures as Markdown."""

import statistics

# The tables that were printed, for --json: the head, and rows of texts and numbers.
printed = []


class Figure(str):
    """The text of a figure, with its number."""

    def __new__(cls, text, value):
        figure = super().__new__(cls, text)
        figure.value = value
        return figure


def median(values, form="{:.2f}"):
    """The median of the rounds, with the minimum and the maximum."""
    values = list(values)
    middle = statistics.median(values)
    texts = [form.format(value) for value in (middle, min(values), max(values))]
    return Figure(texts[0] if len(values) == 1 else f"{texts[0]} ({texts[1]}–{texts[2]})", middle)


def ratios(numerators, denominators):
    """The ratios of each round, because a disturbance of a round affects both values."""
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


def print_table(*rows):
    """Prints a table. The first row is the head; columns contain numbers unless their head begins with a blank."""
    head, *rest = rows
    printed.append({"head": [cell.strip() for cell in head],
                    "rows": [[getattr(cell, "value", cell) for cell in row] for row in rest]})
    print("\n| " + " | ".join(cell.strip() for cell in head) + " |")
    print("|" + "|".join("---" if cell.startswith(" ") else "---:" for cell in head) + "|")
    for row in rest:
        print("| " + " | ".join(map(str, row)) + " |")


class Budgets:
    """The measured figures, their limits, and whether they keep them."""

    def __init__(self):
        self.rows = []

    def row(self, what, measured, budget, is_met):
        self.rows.append((what, measured, budget, "" if is_met is None else "met" if is_met else "NOT MET"))

    def at_least(self, what, values, least, form="{:.2f}", note=""):
        self.row(what, median(values, form) + note, "at least " + form.format(least), statistics.median(values) >= least)

    def at_most(self, what, values, most, form="{:.2f}", note=""):
        self.row(what, median(values, form) + note, "at most " + form.format(most), statistics.median(values) <= most)

    def are_met(self):
        return all(row[3] != "NOT MET" for row in self.rows)

    def print(self):
        print_table((" what", " measured", " budget", " "), *self.rows)
