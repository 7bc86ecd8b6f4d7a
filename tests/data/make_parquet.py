#!/usr/bin/env python3
"""Writes rows.parquet, two row groups with a text, a list, numbers, a date and nothing, by pyarrow."""
import datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet

pyarrow.parquet.write_table(pyarrow.table({
    "text": ["Größe 日本", "two\nlines, \"quoted\"", "c"],
    "tokens": [["a", "b"], ["c"], []],
    "label": pyarrow.array([1, 0, None], pyarrow.int8()),
    "score": [0.5, float("nan"), 2.0],
    "day": [datetime.date(2024, 2, 29)] * 3,
    "raw": [b"x", b"y", b"\xff"],
}), Path(__file__).with_name("rows.parquet"), row_group_size=2)
