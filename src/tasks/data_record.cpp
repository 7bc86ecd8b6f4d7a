#include "tasks/data_record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hexadecimal.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/dataset.h"
#include "data/glue.h"
#include "data/matching.h"
#include "data/parallel_dataset.h"
#include "data/probes.h"
#include "data/triplet_maker.h"

namespace roformer {
namespace {

std::string file_fingerprint(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return hexadecimal(XXH3_64bits(mapped.bytes().data(), mapped.bytes().size()));
}

// A text that is divided in another way has the same fingerprint, and where its documents are of
// one length, the same counts: its shards differ.
std::string shards_fingerprint(const std::vector<std::uint64_t>& checksums) {
  return hexadecimal(XXH3_64bits(checksums.data(), checksums.size() * sizeof(std::uint64_t)));
}

std::string shards_fingerprint(const DatasetDescription& description, Split split) {
  return shards_fingerprint(description[split].shard_checksums);
}

nlohmann::json text_record(const Settings& settings) {
  const DatasetDescription description = read_description(settings.data.directory);
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
      {"training_fingerprint", shards_fingerprint(description, Split::train)},
      {"validation_fingerprint", shards_fingerprint(description, Split::validation)},
      {"source_fingerprints", nlohmann::json::array()}};
  if (description[Split::test].counts.tokens > 0) {
    record["test_fingerprint"] = shards_fingerprint(description, Split::test);
  }
  for (const auto& source : settings.data.sources) {
    const DatasetDescription own = read_description(source.directory);
    record["source_fingerprints"].push_back(
        fmt::format("{} x {}", hexadecimal(own.fingerprint), source.weight));
    record["source_training_tokens"].push_back(training_tokens(own));
    record["source_training_fingerprints"].push_back(shards_fingerprint(own, Split::train));
  }
  for (const auto& stage : settings.stages) {
    if (stage.directory.empty()) continue;
    const DatasetDescription own = read_description(stage.directory);
    record["stage_fingerprints"].push_back(hexadecimal(own.fingerprint));
    record["stage_training_tokens"].push_back(training_tokens(own));
    record["stage_training_fingerprints"].push_back(shards_fingerprint(own, Split::train));
  }
  return record;
}

nlohmann::json pairs_record(const Settings& settings) {
  const ParallelDescription description = read_parallel_description(settings.data.directory);
  const auto shards = [&](Split split) {
    std::vector<std::uint64_t> checksums;
    for (const Side side : kSides) {
      const std::vector<std::uint64_t>& own = description[split][side].shard_checksums;
      checksums.insert(checksums.end(), own.begin(), own.end());
    }
    return shards_fingerprint(checksums);
  };
  nlohmann::json record = {
      {"name", description.name},
      {"fingerprint", hexadecimal(description.fingerprint)},
      {"source_tokenizer_fingerprint", hexadecimal(description.tokenizers[0].fingerprint)},
      {"target_tokenizer_fingerprint", hexadecimal(description.tokenizers[1].fingerprint)},
      {"training_fingerprint", shards(Split::train)},
      {"validation_fingerprint", shards(Split::validation)},
      {"training_pairs", description[Split::train].sentences},
      {"validation_pairs", description[Split::validation].sentences}};
  if (description.text_fingerprint) {
    record["text_fingerprint"] = hexadecimal(*description.text_fingerprint);
  }
  return record;
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
                           {"training_fingerprint", fingerprint(Split::train)},
                           {"validation_fingerprint", fingerprint(Split::validation)}};
  if (holds_triplets(folder)) record["text_fingerprint"] = triplets_source(folder);
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

// What a set was divided from; null where that is not known.
nlohmann::json text_of(const nlohmann::json& record) {
  return record.value("text_fingerprint", record.value("fingerprint", nlohmann::json()));
}

// Of data.sources or of the stages ("source", "stage"), one of which was trained on.
bool divides_one_of(const std::string& what, const nlohmann::json& then,
                    const nlohmann::json& now) {
  const nlohmann::json texts = then.value(what + "_fingerprints", nlohmann::json::array());
  const nlohmann::json trained =
      then.value(what + "_training_fingerprints", nlohmann::json::array());
  for (std::size_t i = 0; i < std::min(texts.size(), trained.size()); ++i) {
    if (!texts[i].is_string() || trained[i] == now["training_fingerprint"]) continue;
    // "0123456789abcdef x 2"
    const std::string text = texts[i].get<std::string>();
    if (text.substr(0, text.find(' ')) == now.value("fingerprint", "")) return true;
  }
  return false;
}

}  // namespace

bool is_other_division(const nlohmann::json& then, const nlohmann::json& now) {
  if (!then.is_object() || !now.contains("training_fingerprint")) return false;
  if (divides_one_of("source", then, now) || divides_one_of("stage", then, now)) return true;
  const bool trained_on = !then.contains("source_training_fingerprints");
  return trained_on && then.contains("training_fingerprint") && text_of(then) == text_of(now) &&
         then["training_fingerprint"] != now["training_fingerprint"];
}

nlohmann::json data_record(const Settings& settings) {
  nlohmann::json record = record_of_kind(settings);
  const bool generated = task_facts(settings.task).data == TaskData::generated;
  record["folder"] = generated ? "" : settings.data.directory.string();
  return record;
}

}  // namespace roformer
