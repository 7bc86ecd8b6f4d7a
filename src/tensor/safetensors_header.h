// The header of a safetensors file (https://github.com/huggingface/safetensors): eight bytes of
// length, then JSON that maps each name to its type, shape and byte range. The parser is a pure
// function over bytes that trusts nothing, so that it can be fuzzed without files or tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

enum class SafetensorsType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::string_view safetensors_name(SafetensorsType type);  // "F32"
std::size_t safetensors_bytes(SafetensorsType type);      // of one element

struct SafetensorsEntry {
  std::string name;
  SafetensorsType type = SafetensorsType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides = {};  // in elements; empty: rows follow each other
  std::size_t begin = 0;  // bytes from the end of the header
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries = {};        // by offset in the file
  std::map<std::string, std::string> metadata = {};  // "__metadata__"
  std::size_t data_offset = 0;                       // the first byte of the data in the file
};

// Reads the header of a whole file. Throws Error (failure, location `file`) unless every field is
// known, every size agrees with type and shape, and the ranges cover the data without gap or
// overlap.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes,
                                           const std::string& file);

// The bytes before the data: length and JSON, padded with spaces so that the data begin at a
// multiple of 64. The entries' ranges must be set; `data_offset` is not used.
std::string format_safetensors_header(const SafetensorsHeader& header);

// The index beside sharded files (model.safetensors.index.json, pytorch_model.bin.index.json): which
// file holds which tensor. A pure function over text that trusts nothing, as that of the header.

// Tensor to file name. Throws Error (failure, location `file`) unless there is a weight_map and
// each of its files is a plain name: a path would let a foreign index read anything.
std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::string& file);

}  // namespace roformer
