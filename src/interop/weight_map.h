// Which tensors of a Hugging Face folder are which parameters of this program: a literal table that
// import and export share.
//
//   {"attention.output.dense", "attention.output", {Size::width, Size::heads}}
//
// A name without ".weight" or ".bias" at its end stands for both: NAME.weight [rows, columns] and,
// where the model has biases, NAME.bias [rows]. "self.[query|key]" are several tensors of theirs,
// stacked row by row in ours. Their names are canonical: without the prefix ("bert.") that a model
// with a head puts before those of its encoder.
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
  three_heads,  // queries, keys and values in one tensor, [3, H, D] rows
  by_head,      // the same with GPT-NeoX's order of rows, [H, 3, D]
  head,         // features of one head
  inner,        // of a feed-forward layer
  two_inner,    // with its gate
};

struct WeightShape {
  Size rows = Size::none, columns = Size::none;
};

// Whether a model has a weight; `layer` is -1 outside of layers.
using Presence = bool (*)(const Settings& settings, std::int64_t layer);

struct WeightRow {
  std::string_view theirs, ours;
  WeightShape shape;
  Presence present = nullptr;  // null: always
};

// The rows of every layer, with the beginnings of their names: "encoder.layer.{}.", "layers.{}.".
struct LayerRows {
  std::string_view theirs, ours;
  std::vector<WeightRow> rows;
};

// A tensor that repeats another one, or is there in its place: an output that is the table of
// tokens. Both names are theirs.
struct Twin {
  std::string_view name, of;
};

struct WeightGroup {
  std::vector<WeightRow> rows;
  std::vector<LayerRows> layers = {};
  std::vector<WeightRow> last = {};  // after the layers
  std::vector<Twin> twins = {};
};

bool has_own_output(const Settings& settings, std::int64_t layer);  // not model.tie_output

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
  std::int64_t layer = -1;
};

// The group with every layer and size written out. Layers of "decoder." are a translator's
// decoder's.
std::vector<FolderWeight> expand_weights(const WeightGroup& group, const Settings& settings,
                                         const TableRows& tables);

}  // namespace roformer
