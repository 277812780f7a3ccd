"""What an experiment found: a table as text, its rows as CSV, and a chart as SVG."""

import csv
import html
import os

from tools.benchmarks import significance

BAR_HEIGHT = 18
BAR_WIDTH = 420
LABEL_WIDTH = 300


class Measure:
    """One column: its name in the samples, its title, and how it is printed."""

    def __init__(self, key, title, digits=0, higher_is_better=True):
        self.key = key
        self.title = title
        self.digits = digits
        self.higher_is_better = higher_is_better

    def text(self, value):
        return "-" if value is None else f"{value:.{self.digits}f}"


class Table:
    """Samples by row (a tuple of the settings), in the order in which rows first came."""

    def __init__(self, title, settings, measures, notes=()):
        self.title = title
        self.settings = settings
        self.measures = measures
        self.notes = list(notes)
        self.verdicts = []
        self.rows = {}

    def add(self, row, sample):
        self.rows.setdefault(tuple(str(part) for part in row), []).append(sample)

    def values(self, row, key):
        samples = self.rows.get(tuple(str(part) for part in row), [])
        return [sample[key] for sample in samples if sample.get(key) is not None]

    def compare(self, row, other, key):
        """Adds a verdict, if both rows have values."""
        one, two = self.values(row, key), self.values(other, key)
        if not one or not two:
            return
        measure = next(m for m in self.measures if m.key == key)
        self.verdicts.append(
            f"{measure.title}: " + significance.verdict(
                " ".join(map(str, row)), one, " ".join(map(str, other)), two,
                measure.higher_is_better))

    def _cell(self, row, measure):
        values = self.values(row, measure.key)
        if not values:
            return "-"
        text = measure.text(significance.median(values))
        share = significance.spread(values)
        return f"{text} ±{share * 100:.0f}%" if len(values) > 1 else text

    def text(self):
        head = list(self.settings) + [m.title for m in self.measures]
        lines = [list(row) + [self._cell(row, m) for m in self.measures] for row in self.rows]
        widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
        keep = len(self.settings)
        out = [self.title, ""]
        for number, line in enumerate([head] + lines):
            cells = [cell.ljust(width) if i < keep else cell.rjust(width)
                     for i, (cell, width) in enumerate(zip(line, widths))]
            out.append("| " + " | ".join(cells) + " |")
            if number == 0:
                out.append("|" + "|".join("-" * (width + 1) + ("-" if i < keep else ":")
                                          for i, width in enumerate(widths)) + "|")
        out += [""] + [f"* {line}" for line in self.notes + self.verdicts]
        return "\n".join(out) + "\n"

    def write_csv(self, path):
        """Every sample, so that others can test for themselves."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(list(self.settings) + ["round"] + [m.key for m in self.measures])
            for row, samples in self.rows.items():
                for number, sample in enumerate(samples, 1):
                    writer.writerow(list(row) + [number]
                                    + [sample.get(m.key) for m in self.measures])

    def write_svg(self, path):
        """Bars of the first measure's medians, with the range of the rounds as a line."""
        measure = self.measures[0]
        rows = [(row, self.values(row, measure.key)) for row in self.rows]
        rows = [(row, values) for row, values in rows if values]
        most = max((max(values) for _, values in rows), default=0) or 1
        height = 40 + len(rows) * (BAR_HEIGHT + 6) + 10
        width = LABEL_WIDTH + BAR_WIDTH + 90
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
               'font-family="sans-serif" font-size="12">',
               '<rect width="100%" height="100%" fill="white"/>',
               f'<text x="10" y="20" font-weight="bold">{html.escape(self.title)}: '
               f'{html.escape(measure.title)}</text>']
        for number, (row, values) in enumerate(rows):
            top = 34 + number * (BAR_HEIGHT + 6)
            scale = BAR_WIDTH / most
            centre = significance.median(values)
            low, high = (LABEL_WIDTH + v * scale for v in (min(values), max(values)))
            middle = top + BAR_HEIGHT / 2
            out += [f'<text x="{LABEL_WIDTH - 8}" y="{top + 13}" text-anchor="end">'
                    f'{html.escape(" ".join(row))}</text>',
                    f'<rect x="{LABEL_WIDTH}" y="{top}" width="{centre * scale:.1f}" '
                    f'height="{BAR_HEIGHT}" fill="#4878a8"/>',
                    f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" '
                    'stroke="#202020" stroke-width="2"/>',
                    f'<text x="{high + 6:.1f}" y="{top + 13}">{measure.text(centre)}</text>']
        out.append("</svg>")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")

    def save(self, folder, name):
        os.makedirs(folder, exist_ok=True)
        base = os.path.join(folder, name)
        with open(base + ".txt", "w", encoding="utf-8") as file:
            file.write(self.text())
        self.write_csv(base + ".csv")
        self.write_svg(base + ".svg")
        return [base + ending for ending in (".txt", ".csv", ".svg")]
