#include "tasks/data_record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hexadecimal.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/dataset.h"
#include "data/glue.h"
#include "data/matching.h"
#include "data/parallel_description.h"
#include "data/probes.h"

namespace roformer {
namespace {

std::string file_fingerprint(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return hexadecimal(XXH3_64bits(mapped.bytes().data(), mapped.bytes().size()));
}

nlohmann::json text_record(const Settings& settings) {
  const DatasetDescription description = read_description(settings.data.directory);
  // A text divided anew has the same fingerprint.
  const auto training_tokens = [](const DatasetDescription& of) {
    return of[Split::train].counts.tokens;
  };
  nlohmann::json record = {
      {"name", shown_name(description)},
      {"fingerprint", hexadecimal(description.fingerprint)},
      {"tokenizer_fingerprint", hexadecimal(description.tokenizer_fingerprint)},
      {"training_tokens", training_tokens(description)},
      {"validation_tokens", description[Split::validation].counts.tokens},
      {"test_tokens", description[Split::test].counts.tokens},
      {"source_fingerprints", nlohmann::json::array()}};
  for (const auto& source : settings.data.sources) {
    const DatasetDescription own = read_description(source.directory);
    record["source_fingerprints"].push_back(
        fmt::format("{} x {}", hexadecimal(own.fingerprint), source.weight));
    record["source_training_tokens"].push_back(training_tokens(own));
  }
  for (const auto& stage : settings.stages) {
    if (stage.directory.empty()) continue;
    const DatasetDescription own = read_description(stage.directory);
    record["stage_fingerprints"].push_back(hexadecimal(own.fingerprint));
    record["stage_training_tokens"].push_back(training_tokens(own));
  }
  return record;
}

nlohmann::json pairs_record(const Settings& settings) {
  const ParallelDescription description = read_parallel_description(settings.data.directory);
  return {{"name", description.name},
          {"fingerprint", hexadecimal(description.fingerprint)},
          {"source_tokenizer_fingerprint", hexadecimal(description.tokenizers[0].fingerprint)},
          {"target_tokenizer_fingerprint", hexadecimal(description.tokenizers[1].fingerprint)},
          {"training_pairs", description[Split::train].sentences},
          {"validation_pairs", description[Split::validation].sentences}};
}

nlohmann::json glue_record(const Settings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  const auto fingerprint = [&](GlueSplit split) {
    return file_fingerprint(find_glue_file(settings.data.directory, facts.task, split));
  };
  nlohmann::json record = {{"name", facts.folder},
                           {"fingerprint", fingerprint(GlueSplit::train)},
                           {"validation_fingerprint", fingerprint(GlueSplit::validation)}};
  if (!facts.submission_mismatched.empty()) {  // MNLI
    record["mismatched_fingerprint"] = fingerprint(GlueSplit::validation_mismatched);
  }
  return record;
}

nlohmann::json matching_record(const Settings& settings) {
  const std::filesystem::path& folder = settings.data.directory;
  const auto fingerprint = [&](Split split) {
    return file_fingerprint(find_matching_file(folder, split));
  };
  nlohmann::json record = {{"name", folder.filename().string()},
                           {"fingerprint", fingerprint(Split::train)},
                           {"validation_fingerprint", fingerprint(Split::validation)}};
  if (has_matching_split(folder, Split::test)) {
    record["test_fingerprint"] = fingerprint(Split::test);
  }
  return record;
}

nlohmann::json generated_record(const Settings& settings) {
  return {{"name", to_word(settings.task) + ": " + to_word(settings.probe.kind)},
          {"fingerprint", hexadecimal(probe_fingerprint(settings.probe.kind))}};
}

nlohmann::json record_of_kind(const Settings& settings) {
  switch (task_facts(settings.task).data) {
    case TaskData::prepared_text:
      return text_record(settings);
    case TaskData::parallel_text:
      return pairs_record(settings);
    case TaskData::glue_folder:
      return glue_record(settings);
    case TaskData::matching_folder:
      return matching_record(settings);
    case TaskData::generated:
      break;
  }
  return generated_record(settings);
}

}  // namespace

nlohmann::json data_record(const Settings& settings) {
  nlohmann::json record = record_of_kind(settings);
  const bool generated = task_facts(settings.task).data == TaskData::generated;
  record["folder"] = generated ? "" : settings.data.directory.string();
  return record;
}

}  // namespace roformer
