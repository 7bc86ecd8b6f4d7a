// Which tensors of a Hugging Face folder are which parameters of this program: a literal table that
// import and export share.
//
//   {"encoder.layer.{}.attention.output.dense", "layers.{}.attention.output", {Size::width,
//   Size::heads}}
//
// `{}` is the number of a layer. A name without ".weight" or ".bias" at its end stands for both:
// NAME.weight [rows, columns] and, where the model has biases, NAME.bias [rows]. "self.[query|key]"
// are several tensors of theirs, stacked row by row in ours. Their names are canonical: without the
// prefix ("bert.") that a model with a head puts before those of its encoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

// The size of a dimension, as the settings say it.
enum class Size : std::uint8_t {
  none,           // no such dimension
  any,            // the file's: the classes of a head
  vocabulary,     // rows of the table of tokens; of the source's in a translator
  target,         // rows of the output of a translator
  decoder_table,  // rows of its decoder's table, which may be padded to those of the source
  token_types,
  positions,
  embedding,    // features of the table of tokens
  width,        // features of a token between the layers
  heads,        // features of all heads; in the second part and later, of the heads of keys
  three_heads,  // queries, keys and values in one tensor
  head,         // features of one head
  inner,        // of a feed-forward layer
  two_inner,    // with its gate
};

// How the rows of a projection are ordered.
enum class WeightOrder : std::uint8_t {
  plain,
  rotated,   // holds queries and keys, whose features a rotation of halves pairs up
  per_head,  // rotated, and GPT-NeoX's [H, 3, D] where ours are [3, H, D]
};

struct WeightShape {
  Size rows = Size::none, columns = Size::none;
};

struct WeightRow {
  std::string_view theirs, ours;
  WeightShape shape;
  WeightOrder order = WeightOrder::plain;
  // Null: every model has it. `layer` is -1 outside of layers.
  bool (*present)(const Settings& settings, std::int64_t layer) = nullptr;
};

// Rows of the tables of tokens, in numbers.
struct TableRows {
  std::int64_t vocabulary = 0, target = 0, decoder_table = 0;
};

// One parameter of this program.
struct FolderWeight {
  struct Part {
    std::string theirs;
    std::vector<std::int64_t> shape;  // -1: the file's
  };
  std::string ours;
  std::vector<Part> parts;  // stacked row by row in ours
  WeightShape shape;
  WeightOrder order = WeightOrder::plain;
  std::int64_t layer = -1;
};

// The table with every layer and size written out. Layers of "decoder.layers.{}" are a translator's
// decoder's.
std::vector<FolderWeight> expand_weights(const std::vector<WeightRow>& rows,
                                         const Settings& settings, const TableRows& tables);

}  // namespace roformer
