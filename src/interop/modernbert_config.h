// config.json of a ModernBERT (Warner et al. 2024) as settings of this program, and back: a
// pre-norm encoder with a gate in its feed-forward parts, a norm behind the embedding in the place
// of the first layer's, and layers of whole attention between layers of a window. Field names and
// defaults: transformers' configuration_modernbert.py, in the form of version 5 (layer_types,
// rope_parameters) and of the releases before it (global_attn_every_n_layers, global_rope_theta,
// local_rope_theta).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct ModernBertConfig {
  // model.*, position.*, attention.*, glue.head, glue.head_dropout and glue.pooling; data.length:
  // max_position_embeddings.
  Settings settings;
  bool decoder_bias = true;        // of the language head's last layer
  std::vector<std::string> notes;  // what trains otherwise here, one sentence each
};

// The object that config.json holds; `file` is named in errors. Throws Error (failure) for values
// out of range and for what this program computes otherwise.
ModernBertConfig parse_modernbert_config(const nlohmann::json& document, const std::string& file);

// Adds what is ModernBERT's own, in both forms where the older one can say it.
// `settings.model.vocabulary` is resolved.
void add_modernbert_fields(const Settings& settings, nlohmann::ordered_json& document);

}  // namespace roformer
