"""Computes the tables of a record again from the figures of its runs."""
import statistics

from auditing.records import Record, number_of, shown_cell
from auditing.student import close, holm


class RecordAudit:
    """Computes the tables of a record again."""

    def __init__(self, record):
        self.record = record
        self.computed = self.stored = 0
        self.mismatches = []
        for name, table in record.tables.items():
            method = self.compared if record.pairs is not None else getattr(self, name, None)
            for number, row in enumerate(table["rows"]):
                expected = method(table, row, number) if method else None
                self.check(name, table, row, expected or {})
        if "results" in record.tables and record.pairs is None:
            self.order()

    def check(self, name, table, row, expected):
        for i, cell in enumerate(row):
            if table["columns"][i]["alignment"] == "left":
                continue
            if i not in expected:
                self.stored += 1
                continue
            self.computed += 1
            wanted, column = expected[i], table["columns"][i]
            if isinstance(cell, str) or cell is None or wanted is None:
                same = shown_cell(wanted, column) == (cell if isinstance(cell, str) else shown_cell(cell, column))
            else:
                same = close(number_of(cell), number_of(wanted))
                if isinstance(wanted, dict):
                    same = same and isinstance(cell, dict) and close(cell["deviation"], wanted["deviation"]) \
                        and cell["count"] == wanted["count"]
            if not same:
                self.mismatches.append(f"{self.record.name}, {name}, {row[0]}, {column['title']}: "
                                       f"has {cell}, the runs give {wanted}")

    def means(self, table, runs):
        expected = {}
        for i, column in enumerate(table["columns"]):
            key = column["key"]
            values = runs.figures(key)
            if key.endswith("_median") and runs.figures(key[:-7]):
                expected[i] = statistics.median(runs.figures(key[:-7]))
            elif key == "collapsed" and values:
                expected[i] = values.count(1.0)
            elif values:
                expected[i] = Record.mean_cell(runs, column)
        return expected

    def results(self, table, row, number):
        label = ", ".join(row[i] for i in self.record.labels())
        runs = self.record.rows[label]
        expected = self.means(table, runs)
        for i, column in enumerate(table["columns"]):
            if column["title"] == "seeds":
                expected[i] = len(runs.runs)
            elif column["title"] == "rank":
                means = [statistics.fmean(other.figures(self.record.metric)) for other in self.record.rows.values()
                         if len(other.runs) > 1]
                own = statistics.fmean(runs.figures(self.record.metric))
                expected[i] = 1 + sum(mean < own for mean in means) if len(runs.runs) > 1 else None
        return expected

    def compared(self, table, row, number):
        """Medians of the rounds of a pair; the speed as the median, least and largest of the rounds'."""
        pair, key = self.record.pairs[number], row[2]
        ours, theirs = pair["rounds_of_ours"], pair["rounds_of_the_peer"]
        median = lambda rounds, figure: statistics.median(one[figure] for one in rounds)
        ratios = [first[key] / second[key] for first, second in zip(ours, theirs)]
        if not key.endswith("_per_s"):  # a time
            ratios = [1 / ratio for ratio in ratios]
        return {3: median(ours, key), 4: median(theirs, key),
                5: f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                6: median(ours, "memory_mib"), 7: median(theirs, "memory_mib")}

    def spread(self, table, row, number):
        expected = {}
        for i, column in enumerate(table["columns"][1:], 1):
            for label, runs in self.record.rows.items():
                names = label.split(", ")
                if sorted(names) == sorted(row[0].split(", ") + [column["key"]]):
                    expected[i] = Record.mean_cell(runs, {"style": column["style"], "key": self.record.metric})
        return expected

    def family(self):
        """Pairs of rows that Holm's correction is for, each with its p."""
        record, table = self.record, self.record.tables["differences"]
        pairs = []
        if table["columns"][1]["title"] != "best":
            pairs = [(row[0], row[1]) for row in table["rows"]]
        else:
            spread = [c["key"] for c in record.tables.get("spread", {"columns": []})["columns"][1:]]
            group = lambda label: next((word for word in label.split(", ") if word in spread), "")
            labels = list(record.rows)
            for i, first in enumerate(labels):
                pairs += [(first, other) for other in labels[:i] if group(other) == group(first)]
        p_values = {pair: record.against(*pair, record.metric)["p"] for pair in pairs}
        tested = {frozenset(pair): p for pair, p in p_values.items() if p is not None}
        return dict(zip(tested, holm(list(tested.values()))))

    def differences(self, table, row, number):
        columns = [column["title"] for column in table["columns"]]
        if "test" in columns:  # declared tests: each names its figure
            return self.declared(table, row)
        if number == 0:
            self.corrected = self.family()
        result = self.record.against(row[0], row[1], self.record.metric)
        shared = set(self.record.rows[row[0]].by_seed(self.record.metric)) & \
            set(self.record.rows[row[1]].by_seed(self.record.metric))
        return {2: len(shared), 3: result["difference"], 4: result["low"], 5: result["high"], 6: result["p"],
                7: self.corrected.get(frozenset(row[:2]))}

    def declared(self, table, row):
        titles = {c["title"]: c["key"] for c in self.record.tables["results"]["columns"]}
        of = lambda line: self.record.against(line[1], line[2], titles.get(line[0], self.record.metric))
        tested = [line for line in table["rows"] if line[9] == "declared" and of(line)["p"] is not None]
        corrected = holm([of(line)["p"] for line in tested])
        result = of(row)
        return {4: result["difference"], 5: result["low"], 6: result["high"], 7: result["p"],
                8: corrected[tested.index(row)] if row in tested else None}

    def target_differences(self, table, row, number):
        run = self.record.rows[row[0]].runs[0]["figures"]
        difference = run[self.record.metric + "_less_reference"]
        reach = run[self.record.metric + "_less_reference_reach"]
        return {2: difference, 3: difference - reach, 4: difference + reach}

    def tuning(self, table, row, number):
        runs = {run["name"]: run["figures"] for run in self.record.document["tuning"]["runs"]}
        expected = {}
        for i, column in enumerate(table["columns"][1:-1], 1):
            name = f"{row[0]}-{'_'.join(column['title'].rsplit(' ', 1)[0].split())}{column['title'].split()[-1]}"
            if name in runs and "validation_loss" in runs[name]:
                expected[i] = runs[name]["validation_loss"]
        best = min(expected, key=expected.get, default=None)
        if best and row[-1].split(",")[0] != table["columns"][best]["title"].split()[-1]:
            self.mismatches.append(f"{self.record.name}, tuning, {row[0]}: {row[-1]} is not the best of the row")
        return expected

    def lengths(self, table, row, number):
        protocol = self.record.document.get("protocol")
        expected = {}
        for i, column in enumerate(table["columns"][1:], 1):
            if not protocol or row[0] not in self.record.rows:
                continue  # the runs of other studies do not keep these losses
            length = column["key"].split("_")[-1]
            key = "test_loss" + ("" if int(length) == protocol["length"] else f"_at_length_{length}")
            expected[i] = Record.mean_cell(self.record.rows[row[0]], {"style": "fixed", "key": key})
        return expected

    def translations(self, table, row, number):
        runs = self.record.rows.get(row[0])  # the decoded sets are not in the record, newer ones have scores
        return {i: Record.mean_cell(runs, {**column, "key": "test_" + column["key"]})
                for i, column in enumerate(table["columns"][1:], 1)
                if runs and runs.figures("test_" + column["key"])}

    def translation_tests(self, table, row, number):
        at = {column["title"]: i for i, column in enumerate(table["columns"])}
        tested = at.get("p, two-sided", at.get("p"))  # before 0.2.0 there was the bootstrap's alone
        corrected = holm([other[tested] for other in table["rows"]])
        return {at["difference"]: row[at["BLEU"]] - row[at["the reference's"]], at["p, Holm"]: corrected[number]}

    def order(self):
        """Rows by their mean, where the metric has a better end."""
        record = self.record
        table = record.tables["results"]
        column = next((c for c in table["columns"] if c["key"] == record.metric), None)
        if column is None or column["best"] == "none" or "protocol" in record.document:
            return
        means = [statistics.fmean(row.figures(record.metric)) for row in record.rows.values()]
        if means != sorted(means, reverse=column["best"] == "highest"):
            self.mismatches.append(f"{record.name}, results: rows are not in the order of {column['title']}")
