"""Compares a page's tables, and the numbers of its sentences, with records."""
import math
import re
import statistics
from pathlib import Path

from auditing.records import number_of, shown_cell
from auditing.student import Mismatch, holm

ROOT = Path(__file__).resolve().parent.parent.parent
STUDIES = ROOT / "configs" / "study"

NUMBER = re.compile(r"(?<![\w.,±/-])[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])(?: million| billion| MB?\b)?")
NAMED = re.compile(r"\b(?:seeds?|tables?|figures?|equations?|versions?|sections?|Zen|GPT|step|line|RFC)\s+\d[\d.]*"
                   r"(?:(?:, | and )\d[\d.]*)*|\b95 % interval")
SHARES = ("accuracy", "symbol_accuracy", "masked_accuracy", "test_accuracy", "score")  # of runs, in per cent
SCALES = {"million": 1e6, "M": 1e6, "MB": 1e6, "billion": 1e9}


def prose_numbers(text):
    """The numbers of a text that need a mark."""
    text = re.sub(r"`[^`]*`", " ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"https?://\S+", " ", text)
    text = NAMED.sub(" ", re.sub(r"^\s*\d+\. ", "", text))
    found = []
    for match in NUMBER.finditer(text):
        word = match.group().strip(" ").lstrip("-−+").rstrip(",")
        if re.fullmatch(r"(19|20)\d\d", word):
            continue
        found.append(word)
    return found


class Page:
    def __init__(self, path, records):
        self.path, self.records = path, records
        self.cells = self.figures = self.cited = 0
        self.mismatches = []
        self.record = self.table = None  # of the last table
        self.strict = path.resolve().parent.name == "results"
        try:
            self.name = str(path.resolve().relative_to(ROOT))
        except ValueError:
            self.name = str(path)
        self.read()

    def complain(self, line, text):
        self.mismatches.append(f"{self.name}:{line}: {text}")

    def find(self, name):
        for folder in (self.path.parent, STUDIES, ROOT):
            if (folder / name).is_file():
                return (folder / name).resolve()
        raise Mismatch(f"no file {name}")

    def open_record(self, words):
        return self.records([self.find(word) for word in words])

    def read(self):
        lines = self.path.read_text().split("\n")
        prose, claims, code, i = [], [], False, 0  # claims: the numbers of a table of claims
        while i < len(lines):
            line = lines[i]
            marker = re.fullmatch(r"<!-- (record|merged): (.+?) -->", line)
            if line.startswith("```"):
                code = not code
            elif code:
                pass
            elif marker:
                i = self.read_table(lines, i, marker.group(2).split(" "))
                continue
            elif line.startswith("|"):
                if self.quoted(lines, i):
                    claims += [(i + 1, number) for number in prose_numbers(line)]
                    prose = list(claims)
            else:
                begin = i
                if "<!-- figures:" in line and "-->" not in line:
                    while "-->" not in lines[i]:
                        i += 1
                text = " ".join(lines[begin:i + 1])
                before, _, marks = text.partition("<!-- figures:")
                if not text.startswith("#"):
                    prose += [(begin + 1, number) for number in prose_numbers(re.sub(r"<!--.*?-->", " ", before))]
                if marks:
                    self.check_marks(begin + 1, prose, marks.split("-->")[0])
                    prose, claims = [], []
                elif not self.strict and not line.strip():
                    prose = list(claims)
            i += 1
        for line, number in prose if self.strict else claims:
            self.complain(line, f"no mark explains {number}")

    @staticmethod
    def quoted(lines, i):
        while lines[i].startswith("|"):
            i -= 1
        return lines[i] == "<!-- quoted -->" and "claim" in lines[i + 1]

    def read_table(self, lines, i, words):
        first, chart = i + 2, words[-1].startswith("chart:")
        try:
            names = [word for word in words if word.endswith(".json")]
            record = self.open_record(names)
            if chart:
                return i + 2  # a test of the program compares the picture
            self.record = record
            default = "results" if len(names) > 1 else self.record.document["tables"][0]["name"]
            self.table = words[-1] if not words[-1].endswith(".json") else default
            table = self.record.table(self.table)
            rows = []
            i += 1
            while i < len(lines) and lines[i].startswith("|"):
                rows.append([cell.strip() for cell in lines[i].strip("|").split("|")])
                i += 1
            if len(rows) - 2 != len(table["rows"]):
                raise Mismatch(f"{len(rows) - 2} rows, the record has {len(table['rows'])}")
            for number, (cells, stored) in enumerate(zip(rows[2:], table["rows"])):
                for cell, value, column in zip(cells, stored, table["columns"]):
                    self.cells += 1
                    if cell.strip("*") != shown_cell(value, column):
                        self.complain(first + 2 + number, f"{cells[0]}, {column['title']}: has {cell}, "
                                      f"the record gives {shown_cell(value, column)}")
        except Mismatch as error:
            self.complain(first, str(error))
            i += 1
            while i < len(lines) and lines[i].startswith("|"):
                i += 1
        return i

    def check_marks(self, line, prose, marks):
        explained = {}
        for mark in filter(None, (mark.strip() for mark in marks.split(";"))):
            figures, equals, place = mark.partition(" = ")
            if not equals:
                self.complain(line, f"not a mark: {mark}")
                continue
            try:
                self.check_mark(figures, " ".join(place.split()))
            except Mismatch as error:
                self.complain(line, f"{mark}: {error}")
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                self.complain(line, f"not understood: {mark} ({error})")
            explained[figures.removesuffix(" %")] = mark
        found = [number for _, number in prose]
        for where, number in prose:
            if number not in explained:
                self.complain(where, f"no mark explains {number}")
        for figure in explained:
            if figure not in found:
                self.complain(line, f"the text above has no {figure}")
        self.figures += len(found)

    def check_mark(self, figure, place):
        if place.startswith("the paper"):
            self.cited += 1
            return
        plain = figure.removesuffix(" %")
        digits, _, scale = plain.partition(" ")
        if match := re.fullmatch(r"(?:(\S+) )?in (\S+)", place):
            number = match.group(1) or plain
            file = self.find(match.group(2))
            if file.suffix not in (".yaml", ".json"):
                raise Mismatch("is neither a configuration nor a record")
            found = re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?", file.read_text())
            if not {number, number.replace(",", "")} & {n.rstrip(",") for n in found}:
                raise Mismatch(f"the file does not have {number}")
            if not match.group(1):
                return
            value, percent = float(number.replace(",", "")), plain != figure
        else:
            value, percent = self.value_of(place)
        value *= (100 if percent else 1) / SCALES.get(scale, 1)
        wanted = digits.replace(",", "")
        decimals = len(wanted.partition(".")[2])
        if f"{value:.{decimals}f}" != f"{float(wanted):.{decimals}f}":
            raise Mismatch(f"it is {value:.{decimals + 2}f}")

    def value_of(self, place):
        """The number, and whether it is a share that the prose gives in per cent."""
        if place.startswith("minus "):
            value, percent = self.value_of(place[6:])
            return -value, percent
        if match := re.fullmatch(r"Holm over (\d+) of (.+)", place):
            rows = self.record.tables["differences"]["rows"]
            corrected = holm([row[6] for row in rows], int(match.group(1)))
            return corrected[[row[0] for row in rows].index(match.group(2))], False
        kind, place = re.fullmatch(r"(?:(deviation|seed \d+|count) of )?(.*)", place).groups()
        parts = place.split(" / ")
        record, table = self.record, self.table
        if re.search(r"\.json\b", parts[0]):
            names = parts.pop(0).split(" ")
            record = self.open_record([name for name in names if name.endswith(".json")])
            table = names[-1] if not names[-1].endswith(".json") else record.document["tables"][0]["name"]
        if record is None:
            raise Mismatch("no record above")
        if " against " in parts[0]:
            return self.statistic(record, *parts)
        if kind == "count":
            index = record.column(table, parts[0])
            return sum(cells[index] is not None for cells in record.table(table)["rows"]), False
        row, column = parts
        if row == "data":
            return record.document["makings"][0]["data"][column], False
        if row == "protocol":
            return record.document["protocol"][column], False
        if column == "seeds":
            return len(record.rows[row].runs), False
        index = record.column(table, column)
        stored = next((r for r in record.table(table)["rows"] if row in (r[0], f"{r[0]}, {r[1]}") or
                       table == "results" and ", ".join(str(r[i]) for i in record.labels()) == row), None)
        runs = record.rows.get(row)
        if index is None or stored is None:  # a figure of the runs
            if runs is None or not runs.figures(column):
                raise Mismatch(f"no {row} with {column}")
            percent = column.startswith(SHARES)
            if kind is None:
                return statistics.fmean(runs.figures(column)), percent
        format = record.table(table)["columns"][index] if index is not None else None
        if format is not None:
            percent = format["style"] == "percent"
        if kind == "deviation":
            return stored[index]["deviation"], percent
        if kind:
            key = column if format is None else format["key"]
            return runs.by_seed(key)[int(kind.split()[1])], percent
        cell = stored[index]
        value = float(cell.replace(",", "")) if isinstance(cell, str) else number_of(cell)
        if math.isnan(value):
            raise Mismatch("the cell is empty")
        return value, percent

    def statistic(self, record, rows, figure, statistic):
        first, second = rows.split(" against ")
        file, _, second = second.rpartition(".json: ")
        other = self.open_record([file + ".json"]) if file else record
        statistic, _, seeds = statistic.partition(" over seeds ")
        index = record.column("results", figure)
        column = record.tables["results"]["columns"][index] if index is not None else None
        result = record.against(first, second, column["key"] if column else figure,
                                [int(seed) for seed in seeds.split(",")] if seeds else None, other)
        if result[statistic] is None:
            raise Mismatch("the seeds do not differ: no interval")
        share = figure.startswith(SHARES) if column is None else column["style"] == "percent"
        return result[statistic], share and statistic != "p"
