#include "interop/causal_folder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "config/schemes/rope.h"
#include "interop/causal_config.h"
#include "interop/causal_names.h"
#include "interop/causal_prompt.h"
#include "interop/chat_template_files.h"
#include "interop/folder.h"
#include "interop/folder_weights.h"
#include "text/byte_level_file.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kCausalConfigFile = "config.json";
constexpr const char* kSentencePieceFile = "tokenizer.model";
constexpr const char* kTokenizerFile = "tokenizer.json";

CausalConfig read_causal_config(const fs::path& folder) {
  const fs::path file = folder / kCausalConfigFile;
  return parse_causal_config(read_file(file, kLargestDescription), file.string());
}

// Masks and frequencies that releases before 2023 kept among the weights.
bool is_old_buffer(const std::string& name) {
  return name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

class CausalReader {
 public:
  explicit CausalReader(const fs::path& folder)
      : folder_(folder),
        config_(read_causal_config(folder)),
        weights_(folder, canonical_causal_names(config_.family)) {}

  PretrainedModel read() {
    result_.settings = config_.settings;
    for (const CausalWeight& weight : causal_weights(result_.settings, config_.family)) {
      take(weight);
    }
    check_tied();
    report_rest();
    note_scaling_by_length();
    read_tokenizer();
    return std::move(result_);
  }

 private:
  const fs::path& folder_;
  CausalConfig config_;
  FolderWeights weights_;
  PretrainedModel result_;

  void take(const CausalWeight& weight) {
    std::vector<at::Tensor> parts;
    for (const CausalWeight::Part& part : weight.parts) {
      parts.push_back(weights_.take(part.theirs, weight.shape(part)));
    }
    const at::Tensor whole = parts.size() == 1 ? parts[0] : at::cat(parts, 0);
    result_.tensors[weight.ours] =
        weight.head_by_head ? heads_apart(whole, result_.settings.model.heads) : whole;
  }

  // A file may hold the output's table beside the one that config.json says it is.
  void check_tied() {
    const char* const name =
        config_.family == CausalFamily::gpt_neox ? "embed_out.weight" : "lm_head.weight";
    if (!result_.settings.model.tie_output || !weights_.contains(name)) return;
    const at::Tensor& table = result_.tensors.at("embedding.tokens.weight");
    if (at::equal(weights_.take(name, table.sizes().vec()), table)) return;
    throw_failure(
        weights_.location(),
        fmt::format("\"{}\" differs from the table of tokens, which config.json says it is", name),
        "\"tie_word_embeddings\": false");
  }

  void note_scaling_by_length() {
    const auto& rope = result_.settings.position.of<RopeSettings>();
    const bool dynamic = rope.scaling == RopeScaling::dynamic_ntk;
    if (!dynamic && rope.scaling != RopeScaling::longrope) return;
    result_.notes.push_back(fmt::format(
        "its rope_type is {}: beyond {} tokens a text that is generated is not the one that "
        "transformers generates with its cache, which keeps the angles that keys were stored with; "
        "here all keys are rotated by the length that the text has come to",
        dynamic ? "dynamic" : "longrope", rope.original_length));
  }

  void report_rest() {
    std::vector<std::string> left;
    for (const std::string& name : weights_.unused()) {
      if (is_old_buffer(name)) continue;
      if (name.starts_with("layers.") || name.starts_with("embed")) {
        throw_failure(weights_.location(),
                      fmt::format("holds {}, which transformers' {} does not have", printable(name),
                                  causal_family_name(config_.family)),
                      "the model computes something else than config.json says");
      }
      left.push_back(printable(name));
    }
    if (!left.empty()) {
      result_.notes.push_back(
          fmt::format("left out, no part of this model: {}", fmt::join(left, ", ")));
    }
  }

  void require_rows(std::int64_t rows) const {
    if (result_.tokenizer->vocabulary_size() <= rows) return;
    throw_failure(folder_.string(),
                  fmt::format("the vocabulary has {} pieces, the weights have rows for {}",
                              result_.tokenizer->vocabulary_size(), rows),
                  "vocabulary and weights must be of one model");
  }

  void take_tokenizer(TokenizerKind kind, const fs::path& file) {
    result_.tokenizer = open_tokenizer({.kind = kind, .file = file});
    result_.tokenizer->set_chat(read_chat_format(folder_, result_.notes));
    require_rows(result_.settings.model.vocabulary);
    result_.settings.decoding.prompt_start =
        prompt_start_of(folder_, *result_.tokenizer, result_.notes);
    result_.settings.decoding.end_tokens = end_tokens_of(folder_, *result_.tokenizer);
  }

  void read_tokenizer() {
    const std::int64_t rows = result_.settings.model.vocabulary;
    const fs::path file = folder_ / kSentencePieceFile;
    const fs::path whole = folder_ / kTokenizerFile;
    const bool byte_level =
        is_there(whole) && is_byte_level_file(read_file(whole, kLargestVocabulary));
    // tiktoken's lists of pieces have the same name.
    const bool pieces =
        is_there(file) && is_sentencepiece_model(read_file(file, kLargestVocabulary));
    if (is_there(file) && !pieces) {
      if (!byte_level) {
        throw_failure(file.string(), "is not a SentencePiece model",
                      "where it is tiktoken's, put the tokenizer.json of a byte-level BPE beside "
                      "it, which AutoTokenizer.from_pretrained(...).save_pretrained(...) writes");
      }
      result_.notes.push_back(
          "its tokenizer.model is no SentencePiece model: its tokenizer.json is read, as "
          "transformers does");
    }
    if (pieces) {
      const fs::path config = folder_ / "tokenizer_config.json";
      const json flags = is_there(config) ? read_json(config) : json::object();
      if (flags.is_object() && flags.value("add_prefix_space", json()) == false) {
        result_.notes.push_back(
            "its tokenizer_config.json has add_prefix_space false, which is not done here: a text "
            "begins as tokenizer.model says");
      }
      return take_tokenizer(TokenizerKind::sentencepiece, file);
    }
    if (byte_level) return take_tokenizer(TokenizerKind::byte_level, whole);
    const bool other = is_there(whole);
    result_.notes.push_back(
        fmt::format("{}: its texts are ids, \"17 4 25\", as its own tokenizer gives them",
                    other ? "its tokenizer.json is not one that is read here (a byte-level BPE, "
                            "or SentencePiece's tokenizer.model, is)"
                          : "it has no tokenizer.model"));
    result_.tokenizer = make_id_tokenizer(id_model(rows), folder_.string());
    result_.settings.decoding.end_tokens = end_tokens_of(folder_, *result_.tokenizer);
  }
};

}  // namespace

bool is_causal_folder(const fs::path& folder) {
  if (!is_there(folder / kCausalConfigFile)) return false;
  const auto config = try_parse_json(read_file(folder / kCausalConfigFile, kLargestDescription));
  if (!config || !config->is_object()) return false;
  const auto type = config->find("model_type");
  return type != config->end() && type->is_string() && is_causal_type(type->get<std::string>());
}

PretrainedModel read_causal_folder(const fs::path& folder) {
  return CausalReader(folder).read();
}

Settings read_causal_settings(const fs::path& folder) {
  CausalConfig config = read_causal_config(folder);
  const FolderWeights listed(folder, canonical_causal_names(config.family));
  return std::move(config.settings);
}

std::string causal_model_name(const fs::path& folder) {
  return std::string(causal_family_name(read_causal_config(folder).family));
}

}  // namespace roformer
