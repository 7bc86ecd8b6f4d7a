"""Records of studies: the runs of each row, the tables, and how a table shows a number."""
import json
import math
import statistics

from auditing.student import Mismatch, compare_paired, holm


def number_of(cell):
    if isinstance(cell, dict):
        return cell.get("mean", math.nan)
    return math.nan if cell is None or isinstance(cell, str) else float(cell)


def shown(value, column):
    """A number in the column's format."""
    if math.isnan(value):
        return "–"
    style, digits = column["style"], column["digits"]
    if style == "count":
        text = f"{round(value):,}"
    elif style == "percent":
        text = f"{100 * value:.{digits}f}"
    elif style == "scientific":
        text = f"{value:.{digits}e}"
    elif style == "fixed":
        text = f"{value:.{digits}f}"
    else:
        text = f"{value:.{digits}g}"
        if "e+" in text and abs(value) < 1e9:
            text = f"{round(float(text)):,}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def shown_cell(cell, column):
    if isinstance(cell, str):
        return cell
    text = shown(number_of(cell), column)
    if isinstance(cell, dict) and cell["count"] > 1:
        text += " ± " + shown(cell["deviation"], column)
    return text


class Row:
    """The runs of one row: a study's combination of values but for the seed."""

    def __init__(self, runs):
        self.runs = runs

    def by_seed(self, figure):
        return {run["seed"]: run["figures"][figure] for run in self.runs if figure in run["figures"]}

    def figures(self, figure):
        return list(self.by_seed(figure).values())


def row_name(run):
    """The run's name without its seed."""
    token = f"seed{run.get('seed')}"
    parts = run["name"].split("-")
    for i in reversed(range(len(parts))):
        if parts[i] == token:
            return "-".join(parts[:i] + parts[i + 1:])
    return run["name"]


def grouped(runs):
    groups = {}
    for run in runs:
        groups.setdefault(row_name(run), []).append(run)
    return {name: Row(members) for name, members in groups.items()}


def read_document(file):
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file}: is no record: {error}") from error


class Record:
    def __init__(self, files):
        self.files = files
        documents = [read_document(file) for file in files]
        self.document = documents[0]
        if "tables" not in self.document:
            raise ValueError(f"{files[0]}: has no tables: it is no record of `study` or `bench compare`")
        self.tables = {table["name"]: table for table in self.document["tables"]}
        self.pairs = self.document.get("pairs")  # of `bench compare`, which has no runs
        if self.pairs is not None:
            self.name = files[0].name
            return
        self.metric = self.document["metric"]
        self.groups = grouped([run for document in documents for run in document["runs"]])
        self.name = "+".join(file.name for file in files)
        # A row's title in the tables -> its runs.
        if len(files) > 1:
            self.tables = {"results": self.merged_results()}
            self.rows = {row[0]: self.groups[row[0]] for row in self.tables["results"]["rows"]}
            self.tables["differences"] = self.merged_differences(documents)
            return
        rows = self.row_labels()
        if len(rows) != len(self.groups):
            raise Mismatch(f"{self.name}: {len(rows)} rows of results, {len(self.groups)} rows of runs")
        self.rows = dict(zip(rows, self.groups.values()))

    def table(self, name):
        """A table of the record; "spread:KEY" is a column of the results in the form of `spread`."""
        kind, _, key = name.partition(":")
        if not key:
            return self.tables[name]
        form, results = self.tables[kind], self.tables["results"]
        place = self.column("results", key)
        column = results["columns"][place]
        columns = form["columns"][:1] + [{**column, "title": one["title"], "key": one["key"]}
                                         for one in form["columns"][1:]]
        cells = {frozenset(row[i] for i in self.labels()): row[place] for row in results["rows"]}
        rows = [row[:1] + [cells.get(frozenset(row[0].split(", ") + [one["key"]])) for one in columns[1:]]
                for row in form["rows"]]
        return {"columns": columns, "rows": rows}

    def labels(self):
        """The columns of the table of results that name its rows."""
        columns = self.tables["results"]["columns"]
        tuned = self.document.get("protocol", {}).get("tuned", []) + self.document.get("tuning", {}).get("keys", [])
        return [i for i, column in enumerate(columns)
                if column["alignment"] == "left" and column["key"] not in tuned]

    def row_labels(self):
        return [", ".join(row[i] for i in self.labels()) for row in self.tables["results"]["rows"]]

    def merged_results(self):
        """Rows of several seeds by their mean, then those of one, as the protocol lists them."""
        columns = self.document["tables"][0]["columns"]
        metric = self.metric
        several = sorted((name for name, row in self.groups.items() if len(row.runs) > 1),
                         key=lambda name: statistics.fmean(self.groups[name].figures(metric)))
        listed = self.document["protocol"]["axes"][0]["values"]
        single = sorted((name for name in self.groups if name not in several), key=listed.index)
        rows = []
        for name in several + single:
            row = self.groups[name]
            cells = [name, several.index(name) + 1 if name in several else None, len(row.runs),
                     ", ".join(dict.fromkeys(run["chosen"][0] for run in row.runs))]
            cells += [self.mean_cell(row, column) for column in columns[4:]]
            rows.append([shown_cell(cell, column) if name in single and i > 3 else cell
                         for i, (cell, column) in enumerate(zip(cells, columns))])
        return {"name": "results", "columns": columns, "rows": rows}

    def merged_differences(self, documents):
        reference = self.document["protocol"]["reference"]
        columns = next(table["columns"] for document in documents for table in document["tables"]
                       if table["name"] == "differences")
        names = [name for name, row in self.rows.items() if len(row.runs) > 1 and name != reference]
        results = [self.against(name, reference, self.metric) for name in names]
        corrected = holm([result["p"] for result in results])
        rows = [[name, reference, len(self.rows[name].runs), *result.values(), p]
                for name, result, p in zip(names, results, corrected)]
        return {"name": "differences", "columns": columns, "rows": rows}

    @staticmethod
    def mean_cell(row, column):
        values = row.figures(column["key"])
        constant = column["style"] == "count" and len(set(values)) == 1
        if len(values) == 1 or constant:
            return values[0]
        return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values), "count": len(values)}

    def column(self, table, title):
        for i, column in enumerate(self.table(table)["columns"]):
            if title in (column["title"], column["key"]) and title:
                return i
        return None

    def against(self, first, second, figure, seeds=None, other=None):
        ours, theirs = self.rows[first].by_seed(figure), (other or self).rows[second].by_seed(figure)
        common = [seed for seed in ours if seed in theirs and (not seeds or seed in seeds)]
        if len(common) < 2:
            raise Mismatch(f"{self.name}: {first} and {second} share {len(common)} seeds")
        return compare_paired([ours[s] for s in common], [theirs[s] for s in common])
