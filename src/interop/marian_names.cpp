#include "interop/marian_names.h"

#include <fmt/format.h>

#include <utility>

namespace roformer {
namespace {

constexpr std::string_view kPrefix = "model.";

// Lists the layers of a stack: "encoder.layers.0.attention.output" is their
// "encoder.layers.0.self_attn.out_proj".
class LayerNames {
 public:
  LayerNames(const ModelSettings& model, std::vector<MarianWeight>& list)
      : width_(model.width), inner_(model.feed_forward), list_(list) {}

  void add(const std::string& prefix, bool cross) {
    self_attention(prefix);
    if (cross) cross_attention(prefix);
    reading(prefix, "feed_forward.inner", {"fc1"}, inner_);
    writing(prefix, "feed_forward.outer", "fc2", inner_);
    norm(prefix, "feed_forward.norm", "final_layer_norm");
  }

 private:
  std::int64_t width_, inner_;
  std::vector<MarianWeight>& list_;

  void self_attention(const std::string& prefix) {
    reading(prefix, "attention.query_key_value",
            {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, width_);
    writing(prefix, "attention.output", "self_attn.out_proj", width_);
    norm(prefix, "attention.norm", "self_attn_layer_norm");
  }
  void cross_attention(const std::string& prefix) {
    reading(prefix, "cross_attention.query", {"encoder_attn.q_proj"}, width_);
    reading(prefix, "cross_attention.key_value", {"encoder_attn.k_proj", "encoder_attn.v_proj"},
            width_);
    writing(prefix, "cross_attention.output", "encoder_attn.out_proj", width_);
    norm(prefix, "cross_attention.norm", "encoder_attn_layer_norm");
  }

  // A linear layer that reads a token's features.
  void reading(const std::string& prefix, const char* ours, const std::vector<std::string>& theirs,
               std::int64_t out) {
    MarianWeight weight{.ours = prefix + ours + ".weight", .shape = {out, width_}, .features = {1}};
    MarianWeight bias{.ours = prefix + ours + ".bias", .shape = {out}};
    for (const std::string& name : theirs) {
      weight.theirs.push_back(prefix + name + ".weight");
      bias.theirs.push_back(prefix + name + ".bias");
    }
    list_.push_back(std::move(weight));
    list_.push_back(std::move(bias));
  }
  // One that adds to them.
  void writing(const std::string& prefix, const char* ours, const char* theirs, std::int64_t in) {
    list_.push_back({.ours = prefix + ours + ".weight",
                     .theirs = {prefix + theirs + ".weight"},
                     .shape = {width_, in},
                     .features = {0}});
    list_.push_back({.ours = prefix + ours + ".bias",
                     .theirs = {prefix + theirs + ".bias"},
                     .shape = {width_},
                     .features = {0}});
  }
  void norm(const std::string& prefix, const char* ours, const char* theirs) {
    for (const char* part : {".weight", ".bias"}) {
      list_.push_back({.ours = prefix + ours + part,
                       .theirs = {prefix + theirs + part},
                       .shape = {width_},
                       .features = {0}});
    }
  }
};

}  // namespace

std::vector<MarianWeight> marian_weights(const Settings& settings,
                                         const MarianVocabularies& vocabularies) {
  const ModelSettings& model = settings.model;
  const TranslationSettings& translation = settings.translation;
  std::vector<MarianWeight> list;
  const auto table = [&](const char* ours, const char* theirs, std::int64_t rows) {
    list.push_back(
        {.ours = ours, .theirs = {theirs}, .shape = {rows, model.width}, .features = {1}});
  };
  if (translation.tie_embeddings) {
    table("embedding.tokens.weight", kMarianSharedTable, vocabularies.source);
  } else {
    table("encoder.embedding.tokens.weight", kMarianSourceTable, vocabularies.source);
    table("decoder.embedding.tokens.weight", kMarianTargetTable, vocabularies.target);
  }
  if (!translation.tie_output) table("output.weight", kMarianOutput, vocabularies.target);
  LayerNames layers(model, list);
  const std::int64_t decoder_layers =
      translation.decoder_layers > 0 ? translation.decoder_layers : model.layers;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    layers.add(fmt::format("encoder.layers.{}.", i), /*cross=*/false);
  }
  for (std::int64_t i = 0; i < decoder_layers; ++i) {
    layers.add(fmt::format("decoder.layers.{}.", i), /*cross=*/true);
  }
  return list;
}

std::string marian_canonical_name(const std::string& name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

std::string marian_stored_name(const std::string& canonical) {
  if (canonical == kMarianOutput || canonical == kMarianOutputBias) return canonical;
  return std::string(kPrefix) + canonical;
}

}  // namespace roformer
