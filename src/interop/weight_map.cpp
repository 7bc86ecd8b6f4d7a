#include "interop/weight_map.h"

#include <algorithm>
#include <utility>

#include "config/schemes/deberta.h"
#include "config/schemes/learned.h"
#include "config/schemes/shaw.h"
#include "config/schemes/t5.h"

namespace roformer {
namespace {

class WeightExpansion {
 public:
  WeightExpansion(const Settings& settings, const TableRows& tables)
      : settings_(settings), tables_(tables) {}

  std::vector<FolderWeight> expand(const WeightGroup& group) {
    for (const WeightRow& row : group.rows) add(row, "", "", -1);
    for (const LayerRows& stack : group.layers) {
      for (std::int64_t layer = 0; layer < layers_of(stack); ++layer) {
        const std::string theirs = in_layer(stack.theirs, layer);
        const std::string ours = in_layer(stack.ours, layer);
        for (const WeightRow& row : stack.rows) add(row, theirs, ours, layer);
      }
    }
    for (const WeightRow& row : group.last) add(row, "", "", -1);
    return std::move(weights_);
  }

 private:
  const Settings& settings_;
  const TableRows& tables_;
  std::vector<FolderWeight> weights_;

  std::int64_t layers_of(const LayerRows& stack) const {
    const std::int64_t decoder = settings_.translation.decoder_layers;
    const bool decodes = stack.ours.starts_with("decoder.");
    return decodes && decoder > 0 ? decoder : settings_.model.layers;
  }

  // With distances instead of positions: as many positions as those distances need.
  std::int64_t positions() const {
    return settings_.position.scheme == "shaw" ? settings_.position.of<ShawSettings>().left + 1
                                               : settings_.position.of<LearnedSettings>().length;
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
        return positions();
      case Size::padded_positions:
        return tables_.of_padding + positions();
      case Size::distances: {
        const auto& shaw = settings_.position.of<ShawSettings>();
        return shaw.left + shaw.right + 1;
      }
      case Size::t5_buckets:
        return settings_.position.of<T5Settings>().buckets;
      case Size::head_count:
        return model.heads;
      case Size::deberta_rows: {
        const auto& deberta = settings_.position.of<DebertaSettings>();
        return 2 * (deberta.buckets > 0 ? deberta.buckets : deberta.span);
      }
      case Size::embedding:
        return model.embedding_width > 0 ? model.embedding_width : model.width;
      case Size::width:
        return model.width;
      case Size::heads:
        return (part == 0 ? model.heads : model.heads_of_keys()) * model.features_of_head();
      case Size::three_heads:
      case Size::by_head:
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
    const std::int64_t rows = number(shape.rows, part), columns = number(shape.columns, 0);
    return shape.transposed ? std::vector{columns, rows} : std::vector{rows, columns};
  }

  void add(const WeightRow& row, const std::string& theirs, const std::string& ours,
           std::int64_t layer) {
    if (row.present != nullptr && !row.present(settings_, layer)) return;
    const auto add_tensor = [&](std::string_view ending, const WeightShape& shape) {
      FolderWeight weight{
          .ours = (ours + std::string(row.ours)).append(ending), .shape = shape, .layer = layer};
      for (const std::string& name : parts_of(theirs + std::string(row.theirs))) {
        weight.parts.push_back(
            {.theirs = name + std::string(ending), .shape = numbers(shape, weight.parts.size())});
      }
      weights_.push_back(std::move(weight));
    };
    if (row.theirs.ends_with(".weight") || row.theirs.ends_with(".bias")) {
      add_tensor("", row.shape);
      return;
    }
    add_tensor(".weight", row.shape);
    if (has_bias(row.ours)) add_tensor(".bias", {.rows = row.shape.rows});
  }

  bool has_bias(std::string_view ours) const {
    const ModelSettings& model = settings_.model;
    if (ours.ends_with("query_key_value") && model.query_key_value_bias) return true;
    if (ours == "attention.output" && model.attention_output_bias) return true;
    const bool feeds = ours == "feed_forward.inner" || ours == "feed_forward.outer";
    return model.bias || (feeds && model.feed_forward_bias);
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

bool has_own_output(const Settings& settings, std::int64_t) {
  return !settings.model.tie_output;
}

std::vector<FolderWeight> expand_weights(const WeightGroup& group, const Settings& settings,
                                         const TableRows& tables) {
  return WeightExpansion(settings, tables).expand(group);
}

std::vector<FolderWeight> expand_idle(const WeightGroup& group, const Settings& settings,
                                      const TableRows& tables) {
  return WeightExpansion(settings, tables).expand({.rows = group.idle});
}

}  // namespace roformer
