#include "results/data_facts.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "runs/model_source.h"
#include "tasks/data_record.h"

namespace roformer {
namespace {

constexpr std::array kFacts = {
    DataFact{"fingerprint", "data"},
    DataFact{"validation_fingerprint", "validation data"},
    DataFact{"mismatched_fingerprint", "mismatched validation data"},
    DataFact{"test_fingerprint", "test data"},
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
    nlohmann::json data = data_record(settings);
    if (!settings.model.from.empty()) {
      data["from_fingerprint"] = model_source_fingerprint(settings.model.from);
    }
    return data;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace roformer
