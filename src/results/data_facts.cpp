#include "results/data_facts.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "config/task_facts.h"
#include "data/dataset.h"
#include "data/glue.h"
#include "data/matching.h"
#include "data/parallel_description.h"
#include "runs/model_source.h"

namespace roformer {
namespace {

constexpr std::array kFacts = {
    DataFact{"fingerprint", "data"},
    DataFact{"validation_fingerprint", "validation data"},
    DataFact{"tokenizer_fingerprint", "tokenizer of the data"},
    DataFact{"source_tokenizer_fingerprint", "tokenizer of the source"},
    DataFact{"target_tokenizer_fingerprint", "tokenizer of the target"},
    DataFact{"training_tokens", "training tokens"},
    DataFact{"validation_tokens", "validation tokens"},
    DataFact{"test_tokens", "test tokens"},
    DataFact{"training_pairs", "training pairs"},
    DataFact{"validation_pairs", "validation pairs"},
    DataFact{"source_fingerprints", "sources of the data"},
    DataFact{"source_training_tokens", "training tokens of the sources"},
    DataFact{"stage_fingerprints", "data of the stages"},
    DataFact{"stage_training_tokens", "training tokens of the stages"},
    DataFact{"from_fingerprint", "model to start from"},
};

std::string file_fingerprint(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return hexadecimal(XXH3_64bits(mapped.bytes().data(), mapped.bytes().size()));
}

nlohmann::json text_today(const Settings& settings) {
  const DatasetDescription description = read_description(settings.data.directory);
  const auto tokens = [&](Split split) { return description[split].counts.tokens; };
  nlohmann::json data = {{"fingerprint", hexadecimal(description.fingerprint)},
                         {"tokenizer_fingerprint", hexadecimal(description.tokenizer_fingerprint)},
                         {"training_tokens", tokens(Split::train)},
                         {"validation_tokens", tokens(Split::validation)},
                         {"test_tokens", tokens(Split::test)},
                         {"source_fingerprints", nlohmann::json::array()}};
  for (const auto& source : settings.data.sources) {
    const DatasetDescription own = read_description(source.directory);
    data["source_fingerprints"].push_back(
        fmt::format("{} x {}", hexadecimal(own.fingerprint), source.weight));
    data["source_training_tokens"].push_back(own[Split::train].counts.tokens);
  }
  for (const auto& stage : settings.stages) {
    if (stage.directory.empty()) continue;
    const DatasetDescription own = read_description(stage.directory);
    data["stage_fingerprints"].push_back(hexadecimal(own.fingerprint));
    data["stage_training_tokens"].push_back(own[Split::train].counts.tokens);
  }
  return data;
}

nlohmann::json pairs_today(const Settings& settings) {
  const ParallelDescription description = read_parallel_description(settings.data.directory);
  return {{"fingerprint", hexadecimal(description.fingerprint)},
          {"source_tokenizer_fingerprint", hexadecimal(description.tokenizers[0].fingerprint)},
          {"target_tokenizer_fingerprint", hexadecimal(description.tokenizers[1].fingerprint)},
          {"training_pairs", description[ParallelSplit::train].sentences},
          {"validation_pairs", description[ParallelSplit::validation].sentences}};
}

nlohmann::json of_kind(const Settings& settings) {
  const std::filesystem::path& folder = settings.data.directory;
  switch (task_facts(settings.task).data) {
    case TaskData::prepared_text:
      return text_today(settings);
    case TaskData::parallel_text:
      return pairs_today(settings);
    case TaskData::glue_folder:
      return {{"fingerprint",
               file_fingerprint(find_glue_file(folder, settings.glue.task, GlueSplit::train))}};
    case TaskData::matching_folder:
      return {{"fingerprint", file_fingerprint(find_matching_file(folder, MatchingSplit::train))},
              {"validation_fingerprint",
               file_fingerprint(find_matching_file(folder, MatchingSplit::validation))}};
    case TaskData::generated:
      break;
  }
  return nullptr;
}

}  // namespace

std::span<const DataFact> data_facts() {
  return kFacts;
}

std::string fact_text(const nlohmann::json& data, const DataFact& fact) {
  if (!data.is_object() || !data.contains(fact.field)) return "";
  const nlohmann::json& value = data[fact.field];
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return describe_json(value);
  std::string text;
  for (const nlohmann::json& item : value) {
    text += (text.empty() ? "" : ", ") +
            (item.is_string() ? item.get<std::string>() : describe_json(item));
  }
  return text.empty() ? "none" : text;
}

nlohmann::json data_today(const Settings& settings) {
  try {
    nlohmann::json data = of_kind(settings);
    if (!data.is_null() && !settings.model.from.empty()) {
      data["from_fingerprint"] = model_source_fingerprint(settings.model.from);
    }
    return data;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace roformer
