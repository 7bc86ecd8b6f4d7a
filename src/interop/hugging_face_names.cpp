#include "interop/hugging_face_names.h"

#include <fmt/format.h>

#include <string_view>
#include "config/schemes/learned.h"

namespace roformer {
namespace {

// A weight and its bias: "query" -> "query.weight" [out, in], "query.bias" [out].
class NameList {
 public:
  void linear(const std::string& ours, const std::vector<std::string>& theirs, std::int64_t out,
              std::int64_t in, bool bias = true) {
    add(ours + ".weight", theirs, ".weight", {out, in});
    if (bias) add(ours + ".bias", theirs, ".bias", {out});
  }
  void norm(const std::string& ours, const std::string& theirs, std::int64_t size,
            bool bias = true) {
    add(ours + ".weight", {theirs}, ".weight", {size});
    if (bias) add(ours + ".bias", {theirs}, ".bias", {size});
  }
  void table(const std::string& ours, const std::string& theirs, std::int64_t rows,
             std::int64_t columns) {
    add(ours, {theirs}, "", {rows, columns});
  }
  void vector(const std::string& ours, const std::string& theirs, std::int64_t size) {
    add(ours, {theirs}, "", {size});
  }
  std::vector<WeightNames> take() { return std::move(names_); }

 private:
  std::vector<WeightNames> names_;

  void add(std::string ours, const std::vector<std::string>& theirs, const char* ending,
           std::vector<std::int64_t> shape) {
    WeightNames names{.ours = std::move(ours), .shape = std::move(shape)};
    for (const std::string& name : theirs) names.theirs.push_back(name + ending);
    names_.push_back(std::move(names));
  }
};

std::int64_t embedding_width(const ModelSettings& model) {
  return model.embedding_width > 0 ? model.embedding_width : model.width;
}

std::string_view prefix_of(HuggingFaceFamily family) {
  if (family == HuggingFaceFamily::modernbert) return "model.";
  return family == HuggingFaceFamily::bert ? "bert." : "roformer.";
}

std::vector<WeightNames> modernbert_encoder_names(const ModelSettings& model) {
  const std::int64_t width = model.width, inner = model.feed_forward;
  NameList list;
  list.table("embedding.tokens.weight", "embeddings.tok_embeddings.weight", model.vocabulary,
             width);
  list.norm("embedding.norm", "embeddings.norm", width, model.bias);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    if (i > 0) list.norm(layer + "attention.norm", layer + "attn_norm", width, model.bias);
    list.linear(layer + "attention.query_key_value", {layer + "attn.Wqkv"}, 3 * width, width,
                model.bias);
    list.linear(layer + "attention.output", {layer + "attn.Wo"}, width, width, model.bias);
    list.norm(layer + "feed_forward.norm", layer + "mlp_norm", width, model.bias);
    list.linear(layer + "feed_forward.inner", {layer + "mlp.Wi"}, 2 * inner, width, model.bias);
    list.linear(layer + "feed_forward.outer", {layer + "mlp.Wo"}, width, inner, model.bias);
  }
  list.norm("final_norm", "final_norm", width, model.bias);
  return list.take();
}

// What stands in front of the last layer of both of ModernBERT's heads.
void add_modernbert_transform(const ModelSettings& model, NameList& list) {
  list.linear("head.dense", {"head.dense"}, model.width, model.width, model.bias);
  list.norm("head.norm", "head.norm", model.width, model.bias);
}

std::vector<WeightNames> modernbert_language_head_names(const ModelSettings& model) {
  NameList list;
  add_modernbert_transform(model, list);
  list.vector("head.decoder.bias", "decoder.bias", model.vocabulary);
  if (!model.tie_output) {
    list.table("head.decoder.weight", "decoder.weight", model.vocabulary, model.width);
  }
  return list.take();
}

}  // namespace

std::vector<WeightNames> encoder_names(const Settings& settings, HuggingFaceFamily family) {
  const ModelSettings& model = settings.model;
  if (family == HuggingFaceFamily::modernbert) return modernbert_encoder_names(model);
  const std::int64_t narrow = embedding_width(model), width = model.width;
  NameList list;
  list.table("embedding.tokens.weight", "embeddings.word_embeddings.weight", model.vocabulary,
             narrow);
  if (model.token_types > 0) {
    list.table("embedding.types.weight", "embeddings.token_type_embeddings.weight",
               model.token_types, narrow);
  }
  if (family == HuggingFaceFamily::bert) {
    list.table("position.table", "embeddings.position_embeddings.weight",
               settings.position.of<LearnedSettings>().length, narrow);
  }
  list.norm("embedding.norm", "embeddings.LayerNorm", narrow);
  if (narrow != width) list.linear("embedding.projection", {"embeddings_project"}, width, narrow);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string ours = fmt::format("layers.{}.", i);
    const std::string theirs = fmt::format("encoder.layer.{}.", i);
    list.linear(ours + "attention.query_key_value",
                {theirs + "attention.self.query", theirs + "attention.self.key",
                 theirs + "attention.self.value"},
                width, width);
    list.linear(ours + "attention.output", {theirs + "attention.output.dense"}, width, width);
    list.norm(ours + "attention.norm", theirs + "attention.output.LayerNorm", width);
    list.linear(ours + "feed_forward.inner", {theirs + "intermediate.dense"}, model.feed_forward,
                width);
    list.linear(ours + "feed_forward.outer", {theirs + "output.dense"}, width, model.feed_forward);
    list.norm(ours + "feed_forward.norm", theirs + "output.LayerNorm", width);
  }
  return list.take();
}

std::vector<WeightNames> language_head_names(const Settings& settings, HuggingFaceFamily family) {
  if (family == HuggingFaceFamily::modernbert) {
    return modernbert_language_head_names(settings.model);
  }
  const std::int64_t narrow = embedding_width(settings.model);
  NameList list;
  list.linear("head.dense", {"cls.predictions.transform.dense"}, narrow, settings.model.width);
  list.norm("head.norm", "cls.predictions.transform.LayerNorm", narrow);
  list.vector("head.decoder.bias", "cls.predictions.bias", settings.model.vocabulary);
  return list.take();
}

std::vector<WeightNames> pooler_names(const Settings& settings) {
  NameList list;
  list.linear("pooler", {"pooler.dense"}, settings.model.width, settings.model.width);
  return list.take();
}

std::vector<WeightNames> classification_head_names(const Settings& settings,
                                                   HuggingFaceFamily family) {
  const std::int64_t width = settings.model.width;
  NameList list;
  if (family == HuggingFaceFamily::modernbert) add_modernbert_transform(settings.model, list);
  if (family != HuggingFaceFamily::roformer) {
    list.linear("classifier", {"classifier"}, -1, width);
  } else {
    list.linear("classifier.dense", {"classifier.dense"}, width, width);
    list.linear("classifier.output", {"classifier.out_proj"}, -1, width);
  }
  return list.take();
}

std::string with_prefix(const std::string& canonical, HuggingFaceFamily family) {
  const bool head = canonical.starts_with("cls.") || canonical.starts_with("classifier.") ||
                    canonical.starts_with("head.") || canonical.starts_with("decoder.");
  return head ? canonical : std::string(prefix_of(family)) + canonical;
}

std::function<std::string(const std::string&)> canonical_names(HuggingFaceFamily family) {
  return [family](const std::string& name) {
    std::string result = name;
    if (result.starts_with(prefix_of(family))) result.erase(0, prefix_of(family).size());
    constexpr std::pair<std::string_view, std::string_view> kOldEndings[] = {
        {"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}};
    for (const auto& [old, present] : kOldEndings) {
      if (result.ends_with(old)) result.replace(result.size() - old.size(), old.size(), present);
    }
    return result;
  };
}

}  // namespace roformer
