#include "interop/marian_export.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/output_folder.h"
#include "config/schemes/sinusoidal.h"
#include "interop/expressible.h"
#include "interop/marian_config.h"
#include "interop/marian_names.h"
#include "interop/marian_tokenizers.h"
#include "interop/new_folder.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMarianMaxPositions = 1024;  // transformers' default

}  // namespace

// All that MarianMTModel cannot be made to compute.
void require_marian(const Settings& settings) {
  const ModelSettings& model = settings.model;
  const TranslationSettings& translation = settings.translation;
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  for (const PositionSettings& position : {settings.position, settings.position.of_decoder()}) {
    const std::string& scheme = position.scheme;
    if (scheme != "sinusoidal") {
      expect(
          false,
          scheme == "rope"
              ? "positions are sinusoidal, not rope (CTranslate2 rotates queries and keys, but no "
                "folder of Hugging Face's describes such a translator to its converter: it needs "
                "a TransformerSpec with rotary_dim and rotary_interleave and this program's "
                "weights in it)"
              : fmt::format("positions are sinusoidal, not {}", scheme));
      break;
    }
    const auto& sinusoids = position.of<SinusoidalSettings>();
    expect(sinusoids.layout != SinusoidalLayout::tensor2tensor,
           "its wavelengths are Vaswani's, not tensor2tensor's (position.sinusoidal.layout)");
    expect(sinusoids.base == 10000, "its base is 10000 (position.sinusoidal.base)");
    expect(sinusoids.scale == 1, "it adds sinusoids as they are (position.sinusoidal.scale 1)");
  }
  expect(settings.position.of_cross().scheme == "none",
         "its cross-attention has no positions (position.cross none)");
  expect(model.norm == NormPlacement::post,
         "it is post-norm, this translator is not (model.norm post)");
  for (std::string& problem : newer_blocks(model)) problems.push_back(std::move(problem));
  expect(model.embedding_width == 0 || model.embedding_width == model.width,
         "it has no projection behind its embedding (model.embedding_width)");
  expect(model.token_types == 0, "it has no token types (model.token_types 0)");
  expect(translation.tie_output || !translation.tie_embeddings,
         "it ties the output to the table where the table is shared (translation.tie_output true)");
  expect(settings.attention.kernel == AttentionKernel::softmax,
         "it has softmax attention (attention.kernel softmax)");
  expect(settings.attention.log_n == LogNScaling::none,
         "it does not scale scores with the length (attention.log_n none)");
  expect(settings.attention.layers.empty(),
         "its layers have the same attention (attention.layers)");
  expect(settings.attention.window == 0, "it has no window (attention.window 0)");
  if (problems.empty()) return;
  throw_usage("export", fmt::format("transformers' MarianMTModel cannot express this translator. "
                                    "In MarianMTModel: {}",
                                    fmt::join(problems, "; ")));
}

namespace {

class MarianExporter {
 public:
  explicit MarianExporter(const ExportedTranslator& translator)
      : translator_(translator), settings_(translator.settings) {}

  std::vector<std::string> write(const fs::path& folder) {
    require_marian(settings_);
    const bool shared = settings_.translation.tie_embeddings;
    vocabularies_.source =
        weight(shared ? "embedding.tokens.weight" : "encoder.embedding.tokens.weight").size(0);
    vocabularies_.target =
        weight(shared ? "embedding.tokens.weight" : "decoder.embedding.tokens.weight").size(0);
    rows_ = std::max(vocabularies_.source, vocabularies_.target);
    for (const MarianWeight& names : marian_weights(settings_, vocabularies_)) add(names);
    add_output_bias();
    for (const auto& [name, tensor] : translator_.tensors) ROFORMER_ASSERT(written_.contains(name));
    require_new_folder(folder);
    OutputFolder output({.output = folder, .contents = "an empty folder"});
    write_marian_tokenizers(
        {.source = translator_.source, .target = translator_.target, .separate = !shared},
        max_positions(), output.path(), notes_);
    // "format" is what transformers demands of a file that it loads.
    write_safetensors(output.path() / "model.safetensors", tensors_, {{"format", "pt"}});
    const ExportedMarianConfig config = this->config();
    write_file_atomically(output.path() / "config.json", to_marian_config(config).dump(2) + "\n");
    write_file_atomically(output.path() / "generation_config.json",
                          to_marian_generation(config).dump(2) + "\n");
    Manifest::of(output.path()).write();
    output.commit();
    note_differences();
    return std::move(notes_);
  }

 private:
  const ExportedTranslator& translator_;
  const Settings& settings_;
  MarianVocabularies vocabularies_;
  // Of each table in the file: transformers before 5 makes the decoder's as long as the encoder's.
  std::int64_t rows_ = 0;
  std::vector<NamedTensor> tensors_;
  std::set<std::string> written_;  // of ours
  std::vector<std::string> notes_;

  const at::Tensor& weight(const std::string& name) const {
    const auto found = translator_.tensors.find(name);
    if (found == translator_.tensors.end()) {
      throw_failure("export", "the model has no parameter \"" + name + "\"");
    }
    return found->second;
  }

  // Sines and cosines in turn become all sines, then all cosines: the same model with a token's
  // features in another order, in which nothing else has an order.
  at::Tensor in_their_order(at::Tensor value, const std::vector<std::int64_t>& dimensions) const {
    if (settings_.position.of<SinusoidalSettings>().layout == SinusoidalLayout::concat) {
      return value;
    }
    for (const std::int64_t dimension : dimensions) {
      const auto pairs = value.unflatten(dimension, {-1, 2});
      value = at::cat({pairs.select(dimension + 1, 0), pairs.select(dimension + 1, 1)}, dimension);
    }
    return value;
  }

  static bool is_table(const MarianWeight& names) {
    const std::string& name = names.theirs.front();
    return name == kMarianSharedTable || name == kMarianSourceTable || name == kMarianTargetTable ||
           name == kMarianOutput;
  }

  void add(const MarianWeight& names) {
    const at::Tensor value =
        in_their_order(weight(names.ours).to(at::kFloat), names.features).contiguous();
    const std::int64_t rows = names.shape[0];
    ROFORMER_ASSERT(value.size(0) == rows * std::ssize(names.theirs));
    if (is_table(names)) {
      tensors_.push_back({.name = marian_stored_name(names.theirs.front()),
                          .value = at::constant_pad_nd(value, {0, 0, 0, rows_ - rows}, 0)});
      written_.insert(names.ours);
      return;
    }
    for (std::size_t i = 0; i < names.theirs.size(); ++i) {
      tensors_.push_back({.name = marian_stored_name(names.theirs[i]),
                          .value = value.narrow(0, static_cast<std::int64_t>(i) * rows, rows)});
    }
    written_.insert(names.ours);
  }

  void add_output_bias() {
    at::Tensor bias = at::zeros({1, vocabularies_.target}, at::kFloat);
    if (settings_.translation.output_bias) {
      bias = weight("output.bias").to(at::kFloat).reshape({1, -1});
      written_.insert("output.bias");
    }
    // What no piece stands for takes no share of the probability; half precision holds the number.
    constexpr double kNever = -30'000;
    tensors_.push_back(
        {.name = kMarianOutputBias,
         .value = at::constant_pad_nd(bias, {0, rows_ - vocabularies_.target}, kNever)});
  }

  std::int64_t max_positions() const {
    return std::max(kMarianMaxPositions, settings_.data.length);
  }

  ExportedMarianConfig config() const {
    const std::int64_t padding = translator_.target.special().padding;
    ExportedMarianConfig result{.settings = settings_,
                                .vocabularies = {.source = rows_, .target = rows_},
                                .tokens = {.padding = padding >= 0 ? padding : translator_.end,
                                           .begin = translator_.begin,
                                           .end = translator_.end},
                                .never = translator_.never,
                                .positions = max_positions()};
    for (std::int64_t id = translator_.target.vocabulary_size(); id < vocabularies_.target; ++id) {
      result.never.push_back(id);
    }
    return result;
  }

  void note_differences() {
    const Tokenizer& target = translator_.target;
    const bool padding_is_last = target.special().padding + 1 == target.vocabulary_size();
    if (target.kind() == TokenizerKind::sentencepiece && !padding_is_last) {
      notes_.push_back(
          "ct2-transformers-converter does not read it, as its padding is not the last piece: "
          "scripts/peers/ctranslate2_translate.py converts it");
    }
    if (settings_.model.norm_epsilon != kMarianNormEpsilon) {
      notes_.push_back(
          fmt::format("Marian's LayerNorm adds 1e-5 to the variance, this model's {}: what the two "
                      "compute differs from the fifth digit on",
                      settings_.model.norm_epsilon));
    }
    if (settings_.decoding.length_penalty == LengthPenalty::wu && settings_.decoding.alpha != 0) {
      notes_.push_back(
          "generate() has no length penalty of Wu's: generation_config.json asks for the average "
          "(here: --length-penalty average --alpha 1)");
    }
    if (!settings_.decoding.free_end) {
      notes_.push_back(
          "generate() ends a translation of max_length tokens at no cost; here its end counts "
          "(decoding.free_end false)");
    }
    if (settings_.decoding.longest_factor != 0) {
      notes_.push_back(
          "generate() limits translations to max_length tokens, whatever the length of the source");
    }
  }
};

}  // namespace

std::vector<std::string> write_marian_folder(const ExportedTranslator& translator,
                                             const fs::path& folder) {
  return MarianExporter(translator).write(folder);
}

}  // namespace roformer
