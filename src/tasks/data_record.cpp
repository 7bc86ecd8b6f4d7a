#include "tasks/data_record.h"

#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hexadecimal.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/parallel_dataset.h"
#include "data/triplet_maker.h"
#include "tasks/task_definition.h"

namespace roformer {
namespace {

// The text that a set was divided from; null if unknown.
nlohmann::json text_of(const nlohmann::json& record) {
  return record.value("text_fingerprint", record.value("fingerprint", nlohmann::json()));
}

// Whether the run of `then` trained on another division of the text of `now`, as one of its
// data.sources ("source") or in one of its stages ("stage").
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

std::string file_fingerprint(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return hexadecimal(XXH3_64bits(mapped.bytes().data(), mapped.bytes().size()));
}

std::string shards_fingerprint(const std::vector<std::uint64_t>& checksums) {
  return hexadecimal(XXH3_64bits(checksums.data(), checksums.size() * sizeof(std::uint64_t)));
}

bool is_other_division(const nlohmann::json& then, const nlohmann::json& now) {
  if (!then.is_object() || !now.contains("training_fingerprint")) return false;
  if (divides_one_of("source", then, now) || divides_one_of("stage", then, now)) return true;
  const bool trained_on = !then.contains("source_training_fingerprints");
  return trained_on && then.contains("training_fingerprint") && text_of(then) == text_of(now) &&
         then["training_fingerprint"] != now["training_fingerprint"];
}

nlohmann::json data_record(const Settings& settings) {
  nlohmann::json record = task_definition(settings.task).data_record(settings);
  const bool generated = task_facts(settings.task).data == TaskData::generated;
  record["folder"] = generated ? "" : data_path(settings).string();
  return record;
}

}  // namespace roformer
