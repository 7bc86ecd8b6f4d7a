"""roformer, a program that trains and compares Transformers, as a Python package: `roformer` starts it."""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def _libtorch():
    """The folder of LibTorch's libraries where torch is not installed beside this package; None beside it."""
    if os.path.exists(os.path.join(HERE, os.pardir, "torch", "lib")):
        return None  # the program looks there
    torch = importlib.util.find_spec("torch")
    if torch is None:
        sys.exit("error: the package torch is not there (hint: pip install 'torch==2.11.*')")
    return os.path.join(torch.submodule_search_locations[0], "lib")


def main():
    elsewhere = _libtorch()
    if elsewhere is not None:
        named = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = elsewhere + (os.pathsep + named if named else "")
    program = os.path.join(HERE, "bin", "roformer")
    os.execv(program, ["roformer", *sys.argv[1:]])
