// The shared parts of the causal families: fields of config.json, a pre-norm stack and rope. GPT-2,
// BLOOM and MPT have other names for the fields of the shape, and no rope.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/family.h"
#include "interop/rope_fields.h"

namespace roformer {

struct CausalDefaults {
  std::int64_t vocabulary = 32000, width = 4096, layers = 32, heads = 32, feed_forward = 11008;
  std::int64_t positions = 2048;
};
// The fields of a model with rope and today's names, with the family's own fields among them.
std::vector<ConfigField> rotary_fields(const CausalDefaults& defaults,
                                       const std::vector<ConfigField>& own);
// The output, which is the table of tokens in a tied model. Both names are theirs.
WeightGroup projection_head(std::string_view output, std::string_view table);
// The fields of every causal model: `shape` (vocabulary, width, ...) and `own` are the family's.
// `tied`: the default of tie_word_embeddings.
std::vector<ConfigField> causal_fields(const std::vector<ConfigField>& shape, bool tied,
                                       const std::vector<ConfigField>& own);

// Throws Error (failure) for a model with another head and for quantised weights, before anything
// else is read.
void refuse_other_models(const JsonFields& fields, const FolderConfig& config);

// The names of the fields that `parse_causal` compares.
struct CausalNames {
  std::string heads = "num_attention_heads", width = "hidden_size";
};
// Sets what no field says, reads the table of fields and checks that the heads share the width.
void parse_causal(const JsonFields& fields, FolderConfig& config, const CausalNames& names = {});
// The same, with the rotation.
void parse_rotary(const JsonFields& fields, const RopeDefaults& rope, FolderConfig& config);

// Parts that only some of the causal families have.
struct CausalExtras {
  bool window = false, embedding_norm = false;
};
// Expects everything that the causal families have in common.
void expect_causal(const Settings& settings, Wishes& wishes, const CausalExtras& extras = {});
// Expects rope, as transformers computes it.
void expect_rotary(const Settings& settings, Wishes& wishes);
// Expects ALiBi with the slopes of the paper.
void expect_causal_alibi(const Settings& settings, Wishes& wishes);
// Expects the layers of GPT-2 and the families after it: LayerNorm, no gate, one head of keys for
// each head of queries, no parallel sub-layers. `title`: "BLOOM's".
void expect_gpt_layers(const Settings& settings, const std::string& title, Wishes& wishes);

// Llama and the families with its layers.
struct LlamaVariant {
  std::string_view type, title, classes;
  std::int64_t key_value_heads = 0;  // if the file does not say; 0: as many as heads of queries
  std::int64_t head_width = 0;       // if the file does not say; 0: the width divided by the heads
  bool own_head_width = true;        // config.json has the field head_dim
  bool query_key_value_bias = false, query_key_norm = false;
  bool attention_bias = false, feed_forward_bias = false;  // config.json has fields for them
  bool window = false;  // config.json has a window for all layers, sliding_window
  CausalDefaults defaults = {};
};
Family llama_like(const LlamaVariant& variant);

}  // namespace roformer
