#include "interop/causal_names.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "position/rotary_table.h"

namespace roformer {
namespace {

class CausalList {
 public:
  CausalList(const ModelSettings& model, CausalFamily family) : model_(model), family_(family) {}

  std::vector<CausalWeight> make() {
    const bool neox = family_ == CausalFamily::gpt_neox;
    const std::int64_t width = model_.width;
    matrix("embedding.tokens.weight",
           {{neox ? "embed_in.weight" : "embed_tokens.weight", model_.vocabulary}}, width);
    for (std::int64_t i = 0; i < model_.layers; ++i) {
      const std::string layer = fmt::format("layers.{}.", i);
      norm(layer + "attention.norm", layer + "input_layernorm");
      norm(layer + "feed_forward.norm", layer + "post_attention_layernorm");
      neox ? add_neox_layer(layer) : add_llama_layer(layer);
    }
    norm("final_norm", neox ? "final_layer_norm" : "norm");
    if (!model_.tie_output) {
      matrix("head.decoder.weight",
             {{neox ? "embed_out.weight" : "lm_head.weight", model_.vocabulary}}, width);
    }
    return std::move(list_);
  }

 private:
  using Parts = std::vector<CausalWeight::Part>;
  const ModelSettings& model_;
  CausalFamily family_;
  std::vector<CausalWeight> list_;

  CausalWeight& matrix(std::string ours, Parts parts, std::int64_t columns) {
    return list_.emplace_back(
        CausalWeight{.ours = std::move(ours), .parts = std::move(parts), .columns = columns});
  }
  void norm(const std::string& ours, const std::string& theirs) {
    matrix(ours + ".weight", {{theirs + ".weight", model_.width}}, 0);
    if (model_.bias) matrix(ours + ".bias", {{theirs + ".bias", model_.width}}, 0);
  }
  // "NAME.weight" and, where there is one, "NAME.bias" of parts of so many rows.
  void linear(const std::string& ours, const Parts& parts, std::int64_t columns, bool bias,
              std::int64_t rotated_heads = 0, bool head_by_head = false) {
    for (const char* ending : {".weight", ".bias"}) {
      const bool is_bias = ending == std::string_view(".bias");
      if (is_bias && !bias) continue;
      Parts named = parts;
      for (CausalWeight::Part& part : named) part.theirs += ending;
      CausalWeight& added = matrix(ours + ending, std::move(named), is_bias ? 0 : columns);
      added.rotated_heads = rotated_heads;
      added.head_by_head = head_by_head;
    }
  }

  void add_llama_layer(const std::string& layer) {
    const std::int64_t head = model_.features_of_head(), width = model_.width;
    const std::int64_t queries = model_.heads * head, keys = model_.heads_of_keys() * head;
    const std::string attention = layer + "self_attn.", feed_forward = layer + "mlp.";
    linear(layer + "attention.query_key_value",
           {{attention + "q_proj", queries},
            {attention + "k_proj", keys},
            {attention + "v_proj", keys}},
           width, model_.query_key_value_bias, model_.heads + model_.heads_of_keys());
    if (model_.query_key_norm) {
      for (const auto& [ours, theirs] :
           {std::pair("query", "q_norm"), std::pair("key", "k_norm")}) {
        matrix(fmt::format("{}attention.{}_norm.weight", layer, ours),
               {{fmt::format("{}{}.weight", attention, theirs), head}}, 0)
            .rotated_heads = 1;
      }
    }
    linear(layer + "attention.output", {{attention + "o_proj", width}}, queries, false);
    linear(layer + "feed_forward.inner",
           {{feed_forward + "gate_proj", model_.feed_forward},
            {feed_forward + "up_proj", model_.feed_forward}},
           width, false);
    linear(layer + "feed_forward.outer", {{feed_forward + "down_proj", width}}, model_.feed_forward,
           false);
  }

  void add_neox_layer(const std::string& layer) {
    const std::int64_t width = model_.width;
    linear(layer + "attention.query_key_value", {{layer + "attention.query_key_value", 3 * width}},
           width, true, 2 * model_.heads, /*head_by_head=*/true);
    linear(layer + "attention.output", {{layer + "attention.dense", width}}, width, true);
    linear(layer + "feed_forward.inner", {{layer + "mlp.dense_h_to_4h", model_.feed_forward}},
           width, true);
    linear(layer + "feed_forward.outer", {{layer + "mlp.dense_4h_to_h", width}},
           model_.feed_forward, true);
  }
};

std::string_view causal_prefix(CausalFamily family) {
  return family == CausalFamily::gpt_neox ? "gpt_neox." : "model.";
}

at::Tensor other_order(const at::Tensor& rows, std::int64_t first, std::int64_t second) {
  std::vector<std::int64_t> sizes = rows.sizes().vec();
  sizes[0] = rows.size(0) / (first * second);
  sizes.insert(sizes.begin(), {first, second});
  return rows.reshape(sizes).transpose(0, 1).reshape(rows.sizes());
}

}  // namespace

std::vector<CausalWeight> causal_weights(const Settings& settings, CausalFamily family) {
  return CausalList(settings.model, family).make();
}

std::string with_causal_prefix(const std::string& canonical, CausalFamily family) {
  const bool head = canonical == "lm_head.weight" || canonical == "embed_out.weight";
  return head ? canonical : std::string(causal_prefix(family)) + canonical;
}

std::function<std::string(const std::string&)> canonical_causal_names(CausalFamily family) {
  return [family](const std::string& name) {
    const std::string_view prefix = causal_prefix(family);
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  };
}

at::Tensor heads_apart(const at::Tensor& theirs, std::int64_t heads) {
  return other_order(theirs, heads, 3);
}

at::Tensor heads_together(const at::Tensor& ours, std::int64_t heads) {
  return other_order(ours, 3, heads);
}

at::Tensor neighbours_to_halves(const at::Tensor& rows, std::int64_t heads, std::int64_t head_width,
                                std::int64_t rotated) {
  std::vector<std::int64_t> order;
  const std::vector<std::int64_t> pairs = half_permutation(rotated);
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const std::int64_t feature = row % head_width;
    const bool is_rotated = row / head_width < heads && feature < rotated;
    order.push_back(is_rotated ? row - feature + pairs[static_cast<std::size_t>(feature)] : row);
  }
  return at::index_select(rows, 0, at::tensor(order, at::kLong));
}

}  // namespace roformer
