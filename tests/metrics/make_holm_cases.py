"""Makes holm_cases.json: p-values and what statsmodels' Holm correction makes of them.

Run: python make_holm_cases.py > holm_cases.json (statsmodels 0.14).
"""
import json

import numpy as np
import statsmodels
from statsmodels.stats.multitest import multipletests

random = np.random.default_rng(7)
families = [
    [0.04],
    [0.01, 0.04, 0.03, 0.005],
    [0.5, 0.6, 0.9],
    [0.02, 0.02, 0.02],
    [0.0, 1.0, 1e-12, 0.3],
    random.random(17).tolist(),
    (random.random(40) ** 4).tolist(),
]
cases = [{"p_values": family, "adjusted": multipletests(family, method="holm")[1].tolist()} for family in families]
print(json.dumps({"made_by": "statsmodels " + statsmodels.__version__, "cases": cases}, indent=1))
