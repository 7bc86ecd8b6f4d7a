// The readers of models' files that are fuzzed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/attention_settings.h"
#include "config/position_facts.h"
#include "config/schemes/rope.h"
#include "fuzz/pickle_readers.h"
#include "fuzz/reader.h"
#include "interop/family.h"
#include "tensor/safetensors_header.h"
#include "text/wordpiece_json.h"

namespace roformer::fuzz {

// Tensors lie end to end and inside the input, and a header that was read can be written and read.
inline void read_header(std::string_view input) {
  const SafetensorsHeader header =
      parse_safetensors_header(std::as_bytes(std::span(input.data(), input.size())), kFile);
  std::size_t covered = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    ROFORMER_ASSERT(entry.begin == covered && entry.end >= entry.begin);
    std::size_t bytes = safetensors_bytes(entry.type);
    for (const std::int64_t size : entry.shape) bytes *= static_cast<std::size_t>(size);
    ROFORMER_ASSERT(entry.end - entry.begin == bytes);
    covered = entry.end;
  }
  ROFORMER_ASSERT(header.data_offset + covered == input.size());
  std::string again = format_safetensors_header(header);
  again.append(covered, '\0');
  const SafetensorsHeader second =
      parse_safetensors_header(std::as_bytes(std::span(again.data(), again.size())), kFile);
  ROFORMER_ASSERT(second.metadata == header.metadata &&
                  second.entries.size() == header.entries.size());
}

// No shard lies outside the folder.
inline void read_index(std::string_view input) {
  for (const auto& [name, shard] : parse_safetensors_index(input, kFile)) {
    ROFORMER_ASSERT(!shard.empty() &&
                    shard.find_first_of(std::string_view("/\0", 2)) == std::string::npos &&
                    shard != "..");
  }
}

// An encoder can be built from the numbers.
inline void check_encoder(const Settings& settings) {
  const ModelSettings& model = settings.model;
  ROFORMER_ASSERT(model.layers > 0 && model.heads > 0);
  ROFORMER_ASSERT(model.head_width > 0 || model.width % model.heads == 0);
  ROFORMER_ASSERT(model.vocabulary > 0 && model.feed_forward > 0 && model.embedding_width >= 0);
  ROFORMER_ASSERT(model.norm_epsilon > 0 && model.dropout >= 0 && model.dropout < 1);
  ROFORMER_ASSERT(settings.data.length > 0);
  // ModernBERT's layers: those that there are, each with a rotation.
  const auto layers = static_cast<std::size_t>(model.layers);
  ROFORMER_ASSERT(attention_of_layers(settings.attention, model.layers).size() == layers);
  std::size_t rotated = 0;
  for (const SchemePart& part : scheme_parts(settings.position, model.layers)) {
    rotated += part.layers.size();
  }
  ROFORMER_ASSERT(rotated == layers);
}

// A causal model's heads and rotated features come out even.
inline void check_causal(const Settings& settings) {
  const ModelSettings& model = settings.model;
  ROFORMER_ASSERT(model.layers > 0 && model.heads % model.heads_of_keys() == 0);
  ROFORMER_ASSERT(model.head_width > 0 || model.width % model.heads == 0);
  const RopeSettings& rope = settings.position.of<RopeSettings>();
  const std::int64_t rotated = rotary_share(rope.fraction, model.features_of_head());
  ROFORMER_ASSERT(rotated >= 2 && rotated % 2 == 0 && rotated <= model.features_of_head());
  ROFORMER_ASSERT(rope.factor >= 1 && rope.base >= 1 && rope.original_length >= 0);
}

inline void read_config(std::string_view input) {
  const FolderConfig config = parse_folder_config({.text = input, .file = kFile});
  switch (config.family->kind) {
    case FamilyKind::encoder:
      return check_encoder(config.settings);
    case FamilyKind::causal:
      return check_causal(config.settings);
    case FamilyKind::translator:
      ROFORMER_ASSERT(config.rows.vocabulary > 0 && config.rows.target > 0);
  }
}

// A piece a line.
inline void read_tokenizer(std::string_view input) {
  const std::string lines = vocabulary_of_tokenizer_json(input, kFile);
  ROFORMER_ASSERT(lines.empty() || lines.ends_with('\n'));
}

inline constexpr Reader kReaders[] = {{"header", read_header},
                                      {"index", read_index},
                                      {"config", read_config},
                                      {"causal", read_config},
                                      {"tokenizer", read_tokenizer},
                                      {"zip", read_zip},
                                      {"pickle", read_pickle}};

}  // namespace roformer::fuzz
