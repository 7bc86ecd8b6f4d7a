// config.json of a causal language model of Hugging Face's: Llama, Qwen 2, Qwen 3 and GPT-NeoX, all
// pre-norm with rope, as settings of this program and back. Field names and defaults: transformers'
// configuration_llama.py, configuration_qwen2.py, configuration_qwen3.py,
// configuration_gpt_neox.py.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace roformer {

enum class CausalFamily { llama, qwen2, qwen3, gpt_neox };

std::string_view causal_family_name(CausalFamily family);  // "Qwen 2"
// "LlamaForCausalLM"
std::string_view causal_architecture(CausalFamily family);
// True for a model_type of one of them.
bool is_causal_type(std::string_view model_type);

struct CausalConfig {
  CausalFamily family = CausalFamily::llama;
  // Task causal_lm, model.* with the vocabulary, position.*, attention.dropout; data.length:
  // max_position_embeddings.
  Settings settings;
};
// `file` is named in errors. Throws Error (failure) for what is not such a file, for a value out of
// range, and for what this program computes otherwise.
CausalConfig parse_causal_config(std::string_view text, const std::string& file);

struct ExportedCausalConfig {
  CausalFamily family = CausalFamily::llama;
  const Settings& settings;  // with the vocabulary and the scaling's original_length
  std::int64_t padding = -1;
  std::vector<std::int64_t> ends = {};  // ids of what ends a text
};
nlohmann::ordered_json to_causal_config(const ExportedCausalConfig& config);

}  // namespace roformer
