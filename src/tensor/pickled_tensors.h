// The tensors in a file that PyTorch's torch.save wrote of a state_dict (pytorch_model.bin): an
// archive with one member of data for each storage, and a pickle that describes the tensors. A
// pickle is a program for Python's unpickler. Here only the opcodes of such a description are read,
// into names, types, shapes and places of bytes; every other opcode, and every function but those
// that rebuild a tensor, is refused with its position. No code runs. A pure function over bytes
// that trusts nothing, so that it can be fuzzed without files or tensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tensor/safetensors_header.h"

namespace roformer {

// The tensors sorted by name; `begin` and `end` count from the archive's first byte. Several may
// share bytes. Throws Error (failure, location `file`) for anything else than a dictionary of
// tensors, for a tensor outside its storage, and for tensors that take much more memory than the
// archive has bytes.
std::vector<SafetensorsEntry> parse_pickled_tensors(std::span<const std::byte> bytes,
                                                    const std::string& file);

}  // namespace roformer
