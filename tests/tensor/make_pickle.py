"""Writes types.bin with PyTorch's torch.save (pip install torch; made with torch 2.11.0): a tensor of
every type and of every form that a state_dict has. Run it in this folder."""
from collections import OrderedDict

import torch


def main():
    numbers = torch.arange(6).remainder(5).view(2, 3)
    tensors = OrderedDict((str(type).split(".")[1], numbers.to(type)) for type in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
        torch.int8, torch.uint8, torch.bool))
    tensors["scalar"] = torch.tensor(3.5)
    tensors["empty"] = torch.zeros(0, 4)
    tensors["columns"] = tensors["float32"].t()  # shares the storage, with other strides
    tensors["second_row"] = tensors["float32"][1]
    tensors["parameter"] = torch.nn.Parameter(tensors["float64"].clone())
    tensors._metadata = OrderedDict({"": {"version": 1}})  # as a module's state_dict has
    torch.save(tensors, "types.bin")


main()
