#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/output_folder.h"
#include "config/position_facts.h"
#include "config/schemes/rope.h"
#include "interop/causal_config.h"
#include "interop/causal_folder.h"
#include "interop/causal_names.h"
#include "interop/causal_prompt.h"
#include "interop/chat_template_files.h"
#include "interop/expressible.h"
#include "interop/new_folder.h"
#include "interop/rope_fields.h"
#include "tensor/safetensors.h"
#include "text/tokenizer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// What a model must be for a family, each in words with its key.
class Wishes {
 public:
  void expect(bool holds, std::string problem) {
    if (!holds) problems_.push_back(std::move(problem));
  }
  [[noreturn]] void refuse(std::string_view families) const {
    throw_usage("export", fmt::format("transformers' {} cannot express this model: there, {}",
                                      families, fmt::join(problems_, "; ")));
  }
  bool granted() const { return problems_.empty(); }

 private:
  std::vector<std::string> problems_;
};

void expect_rope(const Settings& settings, Wishes& wishes) {
  const bool rope = settings.position.scheme == "rope";
  wishes.expect(rope, fmt::format("positions are rope, not {}", settings.position.scheme));
  if (!rope) return;
  const RopeSettings& options = settings.position.of<RopeSettings>();
  wishes.expect(!options.value, "values are not rotated (position.rope.value false)");
  wishes.expect(options.offset == 0, "positions begin at 0 (position.rope.offset)");
  wishes.expect(rope_scaling_name(options.scaling) != nullptr,
                "scalings are linear, dynamic_ntk, yarn, llama3 and longrope "
                "(position.rope.scaling)");
  const bool scales =
      options.scaling == RopeScaling::yarn || options.scaling == RopeScaling::longrope;
  wishes.expect(options.attention_factor == 0 || scales,
                "only yarn and longrope scale queries and keys (position.rope.attention_factor 0)");
}

void expect_common(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  wishes.expect(model.norm == NormPlacement::pre, "norms stand before (model.norm pre)");
  wishes.expect(model.head == LanguageHeadKind::linear,
                "the language head is one projection (model.head linear)");
  wishes.expect(model.embedding_width == 0 || model.embedding_width == model.width,
                "no projection stands behind the embedding (model.embedding_width 0)");
  wishes.expect(model.token_types == 0, "there are no token types (model.token_types 0)");
  wishes.expect(!model.embedding_norm && model.first_norm,
                "the first layer has a norm of its own and the embedding none "
                "(model.embedding_norm false, model.first_norm true)");
  wishes.expect(model.embedding_scale == EmbeddingScale::none,
                "the embedding is not scaled (model.embedding_scale none)");
  wishes.expect(settings.attention.kernel == AttentionKernel::softmax,
                "attention is a softmax (attention.kernel softmax)");
  wishes.expect(settings.attention.log_n == LogNScaling::none,
                "scores do not grow with the length (attention.log_n none)");
  wishes.expect(settings.attention.window == 0, "there is no window (attention.window 0)");
  wishes.expect(settings.attention.layers.empty(), "all layers attend alike (attention.layers {})");
  expect_rope(settings, wishes);
}

void expect_neox(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  wishes.expect(model.bias, "GPT-NeoX's layers have biases (model.bias true)");
  wishes.expect(!is_gated(model.activation), "GPT-NeoX has no gate (model.activation)");
  wishes.expect(model.heads_of_keys() == model.heads,
                "GPT-NeoX's heads have keys and values of their own (model.key_value_heads 0)");
  wishes.expect(model.features_of_head() * model.heads == model.width,
                "GPT-NeoX's heads share the width (model.head_width 0)");
  wishes.expect(!model.query_key_norm, "GPT-NeoX has no norm of queries (model.query_key_norm)");
}

void expect_llama(const Settings& settings, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  wishes.expect(is_gated(model.activation), "Llama has a gate (model.activation swiglu or geglu)");
  wishes.expect(!model.parallel_residual,
                "Llama's sub-layers stand one behind the other (model.parallel_residual false)");
  wishes.expect(!(model.query_key_value_bias && model.query_key_norm),
                "queries have a bias in Qwen 2 and a norm in Qwen 3, in none both");
  const bool wide = model.features_of_head() * model.heads != model.width;
  wishes.expect(!(model.query_key_value_bias && wide),
                "Qwen 2's heads share the width (model.head_width 0)");
  if (settings.position.scheme == "rope") {
    wishes.expect(settings.position.of<RopeSettings>().fraction == 1,
                  "Llama rotates whole heads (position.rope.fraction 1)");
  }
}

}  // namespace

CausalFamily causal_family_of(const Settings& settings) {
  const ModelSettings& model = settings.model;
  const bool llama = model.norm_kind == NormKind::rms_norm;
  Wishes wishes;
  expect_common(settings, wishes);
  llama ? expect_llama(settings, wishes) : expect_neox(settings, wishes);
  if (!wishes.granted()) wishes.refuse(llama ? "Llama and Qwen" : "GPT-NeoX");
  if (!llama) return CausalFamily::gpt_neox;
  if (model.query_key_norm) return CausalFamily::qwen3;
  return model.query_key_value_bias ? CausalFamily::qwen2 : CausalFamily::llama;
}

namespace {

class CausalExporter {
 public:
  explicit CausalExporter(const ExportedModel& model)
      : model_(model), settings_(model.settings), family_(causal_family_of(settings_)) {
    settings_.model.vocabulary = weight("embedding.tokens.weight").size(0);
    keep_training_length(settings_.position, settings_.data.length);
  }

  ExportSummary write(const fs::path& folder) {
    for (const CausalWeight& names : causal_weights(settings_, family_)) add(names);
    for (const auto& [name, tensor] : model_.tensors) ROFORMER_ASSERT(written_.contains(name));
    require_new_folder(folder);
    OutputFolder output({.output = folder, .contents = "an empty folder"});
    write_tokenizer(output.path());
    write_safetensors(output.path() / "model.safetensors", tensors_, {{"format", "pt"}});
    const auto config =
        to_causal_config({.family = family_,
                          .settings = settings_,
                          .padding = model_.tokenizer.special().padding,
                          .ends = text_ends(model_.tokenizer, settings_.decoding.end_tokens)});
    write_file_atomically(output.path() / "config.json", config.dump(2) + "\n");
    Manifest::of(output.path()).write();
    output.commit();
    summary_.architecture = causal_architecture(family_);
    if (family_ != CausalFamily::gpt_neox && settings_.model.dropout > 0) {
      summary_.notes.push_back(fmt::format(
          "its dropout in training, {}, has no field in config.json", settings_.model.dropout));
    }
    return std::move(summary_);
  }

 private:
  const ExportedModel& model_;
  Settings settings_;  // with the vocabulary
  CausalFamily family_;
  std::vector<NamedTensor> tensors_;
  std::set<std::string> written_;  // of ours
  ExportSummary summary_;

  const at::Tensor& weight(const std::string& name) const {
    const auto found = model_.tensors.find(name);
    if (found == model_.tensors.end()) {
      throw_failure("export", "the model has no parameter \"" + name + "\"");
    }
    return found->second;
  }

  at::Tensor in_their_order(const CausalWeight& names) const {
    const RopeSettings& rope = settings_.position.of<RopeSettings>();
    const std::int64_t head = settings_.model.features_of_head();
    at::Tensor value = weight(names.ours);
    if (names.rotated_heads > 0 && rope.layout == RotaryLayout::interleaved) {
      value =
          neighbours_to_halves(value, names.rotated_heads, head, rotary_width(rope.fraction, head));
    }
    return names.head_by_head ? heads_together(value, settings_.model.heads) : value;
  }

  void add(const CausalWeight& names) {
    const at::Tensor value = in_their_order(names).to(at::kFloat);
    std::int64_t row = 0;
    for (const CausalWeight::Part& part : names.parts) {
      tensors_.push_back({.name = with_causal_prefix(part.theirs, family_),
                          .value = value.narrow(0, row, part.rows).contiguous()});
      row += part.rows;
    }
    ROFORMER_ASSERT(row == value.size(0));
    written_.insert(names.ours);
  }

  void write_tokenizer(const fs::path& folder) {
    const Tokenizer& tokenizer = model_.tokenizer;
    const bool pieces = tokenizer.kind() == TokenizerKind::sentencepiece;
    const bool byte_level = tokenizer.kind() == TokenizerKind::byte_level;
    if (pieces || byte_level) {
      auto config = prompt_config(tokenizer, settings_.decoding, settings_.data.length);
      write_chat_format(tokenizer.chat(), folder, config);
      write_file_atomically(folder / "tokenizer_config.json", config.dump(2) + "\n");
    }
    if (byte_level) {
      write_file_atomically(folder / "tokenizer.json", tokenizer.file_contents());
      if (family_ == CausalFamily::qwen2) {
        summary_.notes.push_back(
            "for qwen2 transformers' AutoTokenizer cuts text as Qwen 2 does, whatever "
            "tokenizer.json "
            "says: PreTrainedTokenizerFast(tokenizer_file=\"tokenizer.json\") cuts it as this "
            "model "
            "was trained");
      }
      return;
    }
    if (tokenizer.kind() == TokenizerKind::ids) {
      summary_.notes.push_back(
          "its texts are ids: put the tokenizer of the model that it came from "
          "into the folder");
      return;
    }
    const std::string name = pieces ? "tokenizer.model" : tokenizer.file_name();
    if (!name.empty()) write_file_atomically(folder / name, tokenizer.file_contents());
    const TokenId first = prompt_token(tokenizer, settings_.decoding.prompt_start);
    summary_.notes.push_back(
        name.empty()
            ? "its tokenizer, the bytes of the text, has no file and no counterpart in transformers"
            : fmt::format("{} is written as it is: the text must be encoded with it{}", name,
                          first < 0 ? "" : fmt::format(", behind the id {}", first)));
  }
};

}  // namespace

ExportSummary write_causal_folder(const ExportedModel& model, const fs::path& folder) {
  return CausalExporter(model).write(folder);
}

}  // namespace roformer
