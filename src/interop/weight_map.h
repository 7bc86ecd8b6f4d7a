// Maps tensors of a Hugging Face folder to parameters of this program: a literal table that import
// and export share.
//
//   {"attention.output.dense", "attention.output", {Size::width, Size::heads}}
//
// A name without ".weight" or ".bias" at its end means both: NAME.weight [rows, columns] and, if
// the model has biases, NAME.bias [rows]. "self.[query|key]" names several of their tensors, which
// are stacked row by row in one of ours. Their names are canonical: without the prefix ("bert.")
// that a model with a head puts before the names of its encoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

// The size of a dimension, in terms of the settings.
enum class Size : std::uint8_t {
  none,           // no such dimension
  any,            // as in the file: the classes of a head
  vocabulary,     // rows of the table of tokens; in a translator, of the source's
  target,         // rows of the output of a translator
  decoder_table,  // rows of a translator's decoder table, which may be padded to the source's
  token_types,
  positions,         // rows of a table of positions
  padded_positions,  // the same after the rows of padding (TableRows)
  distances,         // of a table of distances i - j, of which ours has the rows in reverse order
  deberta_rows,      // of DeBERTa's table of distances
  t5_buckets,        // of T5's biases
  embedding,         // features of the table of tokens
  width,             // features of a token between the layers
  heads,             // features of all heads; in the second part and later, of the key heads
  three_heads,       // queries, keys and values in one tensor, [3, H, D] rows
  by_head,           // the same with GPT-NeoX's order of rows, [H, 3, D]
  head,              // features of one head
  head_count,        // one feature for each head
  inner,             // features inside a feed-forward layer
  two_inner,         // the same with a gate: twice as many
};

struct WeightShape {
  Size rows = Size::none, columns = Size::none;
  bool transposed = false;  // the file holds [columns, rows], as GPT-2's does
};

// Whether a model has a weight; `layer` is -1 outside layers.
using Presence = bool (*)(const Settings& settings, std::int64_t layer);

struct WeightRow {
  std::string_view theirs, ours;
  WeightShape shape;
  Presence present = nullptr;  // null: always
};

// The rows of every layer and the prefixes of their names: "encoder.layer.{}.", "layers.{}.".
struct LayerRows {
  std::string_view theirs, ours;
  std::vector<WeightRow> rows;
};

// A tensor that repeats another one or takes its place, such as an output layer that is the table
// of tokens. Both names are theirs.
struct Twin {
  std::string_view name, of;
};

struct WeightGroup {
  std::vector<WeightRow> rows;
  std::vector<LayerRows> layers = {};
  std::vector<WeightRow> last = {};  // after the layers
  std::vector<Twin> twins = {};
  // Tensors that the class has and does not compute with. An export writes the parameter `ours`, or
  // zeros for an empty name. An import takes one only if the parameter's tensor is missing.
  std::vector<WeightRow> idle = {};
};

bool has_own_output(const Settings& settings, std::int64_t layer);  // model.tie_output is off

// The numbers of rows in the tables.
struct TableRows {
  std::int64_t vocabulary = 0, target = 0, decoder_table = 0;
  std::int64_t of_padding = 0;  // rows of a table of positions before that of position 0
};

// One parameter of this program.
struct FolderWeight {
  struct Part {
    std::string theirs;
    std::vector<std::int64_t> shape;  // -1: as in the file
  };
  std::string ours;
  std::vector<Part> parts;  // stacked row by row in ours
  WeightShape shape;
  std::int64_t layer = -1;
};

// Writes out every layer and size of the group. Names that begin with "decoder." belong to a
// translator's decoder.
std::vector<FolderWeight> expand_weights(const WeightGroup& group, const Settings& settings,
                                         const TableRows& tables);
std::vector<FolderWeight> expand_idle(const WeightGroup& group, const Settings& settings,
                                      const TableRows& tables);

}  // namespace roformer
