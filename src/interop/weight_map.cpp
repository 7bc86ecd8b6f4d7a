#include "interop/weight_map.h"

#include <algorithm>
#include <utility>

#include "config/schemes/learned.h"

namespace roformer {
namespace {

class WeightExpansion {
 public:
  WeightExpansion(const Settings& settings, const TableRows& tables)
      : settings_(settings), tables_(tables) {}

  std::vector<FolderWeight> expand(const std::vector<WeightRow>& rows) {
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t last = first + 1;
      if (!is_layered(rows[first])) {
        add(rows[first], -1);
      } else {
        // All rows of one stack follow each other; their weights are listed layer by layer.
        while (last < rows.size() && is_layered(rows[last]) &&
               in_decoder(rows[last]) == in_decoder(rows[first])) {
          ++last;
        }
        for (std::int64_t layer = 0; layer < layers_of(rows[first]); ++layer) {
          for (std::size_t i = first; i < last; ++i) add(rows[i], layer);
        }
      }
      first = last;
    }
    return std::move(weights_);
  }

 private:
  const Settings& settings_;
  const TableRows& tables_;
  std::vector<FolderWeight> weights_;

  static bool is_layered(const WeightRow& row) { return row.ours.find("{}") != row.ours.npos; }
  static bool in_decoder(const WeightRow& row) { return row.ours.starts_with("decoder."); }
  std::int64_t layers_of(const WeightRow& row) const {
    const std::int64_t decoder = settings_.translation.decoder_layers;
    return in_decoder(row) && decoder > 0 ? decoder : settings_.model.layers;
  }

  std::int64_t number(Size size, std::size_t part) const {
    const ModelSettings& model = settings_.model;
    switch (size) {
      case Size::none:
        return 0;
      case Size::any:
        return -1;
      case Size::vocabulary:
        return tables_.vocabulary;
      case Size::target:
        return tables_.target;
      case Size::decoder_table:
        return tables_.decoder_table;
      case Size::token_types:
        return model.token_types;
      case Size::positions:
        return settings_.position.of<LearnedSettings>().length;
      case Size::embedding:
        return model.embedding_width > 0 ? model.embedding_width : model.width;
      case Size::width:
        return model.width;
      case Size::heads:
        return (part == 0 ? model.heads : model.heads_of_keys()) * model.features_of_head();
      case Size::three_heads:
        return 3 * model.heads * model.features_of_head();
      case Size::head:
        return model.features_of_head();
      case Size::inner:
        return model.feed_forward;
      case Size::two_inner:
        return 2 * model.feed_forward;
    }
    return 0;
  }

  std::vector<std::int64_t> numbers(const WeightShape& shape, std::size_t part) const {
    if (shape.columns == Size::none) return {number(shape.rows, part)};
    return {number(shape.rows, part), number(shape.columns, 0)};
  }

  void add(const WeightRow& row, std::int64_t layer) {
    if (row.present != nullptr && !row.present(settings_, layer)) return;
    if (row.theirs.ends_with(".weight") || row.theirs.ends_with(".bias")) {
      add_tensor(row, layer, "", row.shape);
      return;
    }
    add_tensor(row, layer, ".weight", row.shape);
    const ModelSettings& model = settings_.model;
    const bool projects_queries = row.order != WeightOrder::plain;
    if (model.bias || (projects_queries && model.query_key_value_bias)) {
      add_tensor(row, layer, ".bias", {.rows = row.shape.rows});
    }
  }

  void add_tensor(const WeightRow& row, std::int64_t layer, std::string_view ending,
                  const WeightShape& shape) {
    FolderWeight weight{.ours = in_layer(row.ours, layer).append(ending),
                        .shape = shape,
                        .order = row.order,
                        .layer = layer};
    for (const std::string& name : parts_of(in_layer(row.theirs, layer))) {
      weight.parts.push_back(
          {.theirs = name + std::string(ending), .shape = numbers(shape, weight.parts.size())});
    }
    weights_.push_back(std::move(weight));
  }

  static std::string in_layer(std::string_view name, std::int64_t layer) {
    std::string result(name);
    const std::size_t place = result.find("{}");
    if (place != std::string::npos) result.replace(place, 2, std::to_string(layer));
    return result;
  }

  // "a.[b|c]" -> "a.b", "a.c"
  static std::vector<std::string> parts_of(const std::string& name) {
    const std::size_t open = name.find('['), close = name.find(']');
    if (open == std::string::npos) return {name};
    std::vector<std::string> parts;
    for (std::size_t from = open + 1; from < close;) {
      const std::size_t to = std::min(name.find('|', from), close);
      parts.push_back(name.substr(0, open) + name.substr(from, to - from) + name.substr(close + 1));
      from = to + 1;
    }
    return parts;
  }
};

}  // namespace

std::vector<FolderWeight> expand_weights(const std::vector<WeightRow>& rows,
                                         const Settings& settings, const TableRows& tables) {
  return WeightExpansion(settings, tables).expand(rows);
}

}  // namespace roformer
