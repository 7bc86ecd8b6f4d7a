// The shared parts of the causal families: fields of config.json, a pre-norm stack and rope.
#pragma once

#include <cstdint>
#include <vector>

#include "interop/family.h"
#include "interop/rope_fields.h"

namespace roformer {

struct CausalDefaults {
  std::int64_t vocabulary = 32000, width = 4096, layers = 32, heads = 32, feed_forward = 11008;
  std::int64_t positions = 2048;
};
// The fields of every causal model, with the family's own fields among them.
std::vector<ConfigField> causal_fields(const CausalDefaults& defaults,
                                       std::vector<ConfigField> own);

// Throws Error (failure) for a model with another head and for quantised weights, before anything
// else is read.
void refuse_other_models(const Family& family, const JsonFields& fields);

// Sets what no field says, reads the table of fields and the rotation, and checks them.
void parse_causal(const Family& family, const JsonFields& fields, const RopeDefaults& rope,
                  FolderConfig& config);

// Expects everything that the causal families have in common.
void expect_causal(const Settings& settings, Wishes& wishes);

// Llama and the families with its layers.
struct LlamaVariant {
  std::string_view type, title, classes;
  std::int64_t positions = 2048;
  std::int64_t key_value_heads = 0;  // if the file does not say; 0: as many as heads of queries
  std::int64_t head_width = 0;       // if the file does not say; 0: the width divided by the heads
  bool own_head_width = true;        // config.json has the field head_dim
  bool query_key_value_bias = false, query_key_norm = false;
};
Family llama_like(const LlamaVariant& variant);

}  // namespace roformer
