// The index beside sharded safetensors files (model.safetensors.index.json): which file holds which
// tensor. A pure function over text that trusts nothing, as that of the header.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace roformer {

// Tensor to file name. Throws Error (failure, location `file`) unless there is a weight_map and
// each of its files is a plain name: a path would let a foreign index read anything.
std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::string& file);

}  // namespace roformer
