"""Makes the fixtures of safetensors_test.cpp with the Python package `safetensors`:
types.safetensors, one tensor of each type; shards/, two files and their index."""
import json
import pathlib

import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent
types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
         torch.int16, torch.int8, torch.uint8, torch.bool]
tensors = {str(t).removeprefix("torch."): (torch.arange(6) % 5).reshape(2, 3).to(t) for t in types}
tensors["scalar"] = torch.tensor(3.5)
tensors["empty"] = torch.zeros(0, 4)
save_file(tensors, here / "types.safetensors", metadata={"format": "pt", "note": "from Python"})

shards = here / "shards"
shards.mkdir(exist_ok=True)
weight_map = {}
for number, name in enumerate(["first.weight", "second.weight"], start=1):
    file = f"model-{number:05}-of-00002.safetensors"
    save_file({name: torch.full((2, 2), float(number))}, shards / file, metadata={"format": "pt"})
    weight_map[name] = file
index = {"metadata": {"total_size": 32}, "weight_map": weight_map}
(shards / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
