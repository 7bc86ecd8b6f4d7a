#include "interop/marian_folder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"
#include "interop/folder_weights.h"
#include "interop/marian_config.h"
#include "interop/marian_names.h"
#include "interop/rotary_sinusoids.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMarianConfigFile = "config.json";
constexpr const char* kGenerationFile = "generation_config.json";
constexpr const char* kOutputBiasHere = "output.bias";
constexpr std::int64_t kAnyRows = -1;

MarianConfig read_marian_config(const fs::path& folder) {
  const fs::path config = folder / kMarianConfigFile, generation = folder / kGenerationFile;
  const std::string text = read_file(config, kLargestDescription);
  const std::string search = is_there(generation) ? read_file(generation, kLargestDescription) : "";
  return parse_marian_config({.text = text, .file = config.string()},
                             {.text = search, .file = generation.string()});
}

class MarianReader {
 public:
  explicit MarianReader(const fs::path& folder)
      : folder_(folder),
        config_(read_marian_config(folder)),
        weights_(folder, marian_canonical_name) {}

  PretrainedTranslator read() {
    result_.settings = config_.settings;
    result_.notes = config_.notes;
    read_tables();
    for (const MarianWeight& weight : marian_weights(result_.settings, config_.vocabularies)) {
      if (!result_.tensors.contains(weight.ours)) take(weight);
    }
    read_output_bias();
    check_sinusoids();
    report_rest();
    result_.tokenizers = read_marian_tokenizers(folder_, config_.tokens);
    check_vocabularies();
    settle_output_bias();
    return std::move(result_);
  }

 private:
  const fs::path& folder_;
  MarianConfig config_;
  FolderWeights weights_;
  PretrainedTranslator result_;

  void take(const MarianWeight& weight) {
    std::vector<at::Tensor> parts;
    for (const std::string& name : weight.theirs) {
      parts.push_back(weights_.take(name, weight.shape));
    }
    result_.tensors[weight.ours] = parts.size() == 1 ? parts[0] : at::cat(parts, 0);
  }

  // The one table that goes by several names; the first that is there.
  at::Tensor take_tied(const std::vector<const char*>& names, std::int64_t rows) {
    at::Tensor table;
    for (const char* name : names) {
      if (!weights_.contains(name)) continue;
      const at::Tensor value = weights_.take(name, {rows, result_.settings.model.width});
      if (table.defined() && !at::equal(table, value)) {
        throw_failure(weights_.location(),
                      fmt::format("\"{}\" differs from \"{}\"", name, names[0]),
                      "config.json says that they are one table");
      }
      if (!table.defined()) table = value;
    }
    if (!table.defined())
      throw_failure(weights_.location(), fmt::format("has no \"{}\"", names[0]));
    return table;
  }

  void read_tables() {
    const TranslationSettings& translation = result_.settings.translation;
    const auto [source, target] = config_.vocabularies;
    if (translation.tie_embeddings) {
      std::vector<const char*> names = {kMarianSharedTable, kMarianSourceTable, kMarianTargetTable};
      if (translation.tie_output) names.push_back(kMarianOutput);
      result_.tensors["embedding.tokens.weight"] = take_tied(names, source);
      if (!translation.tie_output) tie_equal_output();
      return;
    }
    std::vector<const char*> names = {kMarianTargetTable};
    if (translation.tie_output) names.push_back(kMarianOutput);
    const at::Tensor table = take_tied(names, kAnyRows);
    if (table.size(0) != target && table.size(0) != source) {
      throw_failure(weights_.location(),
                    fmt::format("\"{}\" has {} rows, config.json makes it {} (or {}, as "
                                "transformers 4 has it)",
                                kMarianTargetTable, table.size(0), target, source));
    }
    result_.tensors["decoder.embedding.tokens.weight"] = table;
  }

  // The output of a file whose flag says that it has a table, and that holds the shared one there.
  void tie_equal_output() {
    if (!weights_.contains(kMarianOutput)) return;
    const at::Tensor& table = result_.tensors.at("embedding.tokens.weight");
    const at::Tensor output =
        weights_.take(kMarianOutput, {config_.vocabularies.target, table.size(1)});
    if (at::equal(output, table)) {
      result_.settings.translation.tie_output = true;
      result_.notes.push_back(
          "its \"tie_word_embeddings\" is false and its output's table is the shared one, number "
          "for number: here the two are one, in a training, too");
    } else {
      result_.tensors["output.weight"] = output;
    }
  }

  void read_output_bias() {
    if (!weights_.contains(kMarianOutputBias)) return;
    const at::Tensor bias = weights_.take(kMarianOutputBias, {1, config_.vocabularies.target});
    result_.tensors[kOutputBiasHere] = bias.reshape({-1});
  }

  // Most have none: a bias of zeros for all pieces is left out.
  void settle_output_bias() {
    const auto bias = result_.tensors.find(kOutputBiasHere);
    if (bias == result_.tensors.end()) return;
    result_.settings.translation.output_bias = bias->second.ne(0).any().item<bool>();
    if (!result_.settings.translation.output_bias) result_.tensors.erase(bias);
  }

  void check_sinusoids() {
    constexpr double kHalfPrecision = 0.01;
    for (const char* name : kMarianSinusoids) {
      if (!weights_.contains(name)) continue;
      const at::Tensor stored = weights_.take(name, {-1, result_.settings.model.width});
      if (stored.numel() == 0) continue;
      const at::Tensor wanted = rotary_sinusoids(stored.size(0), stored.size(1));
      if ((stored - wanted).abs().max().item<double>() <= kHalfPrecision) continue;
      throw_failure(weights_.location(),
                    fmt::format("\"{}\" are not sines and cosines of base 10000", name));
    }
  }

  void report_rest() const {
    for (const std::string& name : weights_.unused()) {
      throw_failure(
          weights_.location(),
          fmt::format("holds {}, which transformers' MarianMTModel does not have", printable(name)),
          "the model computes something else than config.json says");
    }
  }

  // To the pieces of either side: rows beyond them stand for nothing.
  void cut_tables() {
    const auto cut = [&](const char* table, const Tokenizer& tokenizer) {
      const auto found = result_.tensors.find(table);
      if (found == result_.tensors.end()) return;
      const std::int64_t rows = found->second.size(0), pieces = tokenizer.vocabulary_size();
      if (rows == pieces) return;
      found->second = found->second.narrow(0, 0, pieces).clone();
      if (found->first == kOutputBiasHere) return;  // told with its table
      result_.notes.push_back(
          fmt::format("{}: {} rows for {} pieces; the rest is left out, as no piece stands for it",
                      table, rows, pieces));
    };
    cut("encoder.embedding.tokens.weight", *result_.tokenizers.source);
    for (const char* table :
         {"decoder.embedding.tokens.weight", "output.weight", kOutputBiasHere}) {
      cut(table, *result_.tokenizers.target);
    }
  }

  void check_vocabularies() {
    const auto check = [&](const Tokenizer& tokenizer, std::int64_t rows) {
      if (tokenizer.vocabulary_size() <= rows) return;
      throw_failure(folder_.string(),
                    fmt::format("the vocabulary has {} pieces, the weights have rows for {}",
                                tokenizer.vocabulary_size(), rows),
                    "vocabulary and weights must be of one model");
    };
    const Tokenizer& target = *result_.tokenizers.target;
    check(*result_.tokenizers.source, config_.vocabularies.source);
    check(target, config_.vocabularies.target);
    if (const auto table = result_.tensors.find("decoder.embedding.tokens.weight");
        table != result_.tensors.end()) {
      check(target, table->second.size(0));
    }
    if (result_.settings.translation.tie_embeddings &&
        !same_vocabulary(*result_.tokenizers.source, target)) {
      throw_failure(folder_.string(), "source and target share a table and not a vocabulary");
    }
    if (!result_.settings.translation.tie_embeddings) {
      cut_tables();
    } else if (config_.vocabularies.source != target.vocabulary_size()) {
      result_.settings.model.vocabulary = config_.vocabularies.source;
    }
    const auto& never = config_.never;
    const auto excluded = [&](std::int64_t id) {
      return std::find(never.begin(), never.end(), id) != never.end();
    };
    result_.settings.decoding.unknown = !excluded(target.special().unknown);
    const auto others = std::ranges::count_if(never, [&](std::int64_t id) {
      return id != target.special().unknown && id != target.special().padding &&
             id != config_.tokens.begin;
    });
    if (others > 0) {
      result_.notes.push_back(fmt::format(
          "its generate() never chooses {} more tokens (bad_words_ids, suppress_tokens); here it "
          "may",
          others));
    }
    if (!excluded(target.special().padding)) {
      result_.notes.push_back("its generate() may choose the padding; here it is never chosen");
    }
  }
};

}  // namespace

bool is_marian_folder(const fs::path& folder) {
  if (!is_there(folder / kMarianConfigFile)) return false;
  const auto config = try_parse_json(read_file(folder / kMarianConfigFile, kLargestDescription));
  return config && config->is_object() && config->value("model_type", nlohmann::json()) == "marian";
}

PretrainedTranslator read_marian_folder(const fs::path& folder) {
  return MarianReader(folder).read();
}

}  // namespace roformer
