#include "experiments/data_facts.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "runs/model_source.h"
#include "tasks/data_record.h"

namespace roformer {
namespace {

struct DataFact {
  const char* field;  // of run.json's "data"
  const char* title;
  bool may_lack = false;  // a list that older programs did not write: without it, it says nothing
};

constexpr std::array kFacts = {
    DataFact{"fingerprint", "data"},
    DataFact{"training_fingerprint", "training data"},
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
    DataFact{"source_training_fingerprints", "training data of the sources", true},
    DataFact{"stage_fingerprints", "data of the stages"},
    DataFact{"stage_training_tokens", "training tokens of the stages"},
    DataFact{"stage_training_fingerprints", "training data of the stages", true},
    DataFact{"from_fingerprint", "model to start from"},
};

nlohmann::json value_of(const nlohmann::json& data, const DataFact& fact) {
  return data.is_object() ? data.value(fact.field, nlohmann::json()) : nlohmann::json();
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return describe_json(value);
  std::string text;
  for (const nlohmann::json& item : value) {
    text += (text.empty() ? "" : ", ") +
            (item.is_string() ? item.get<std::string>() : describe_json(item));
  }
  return text.empty() ? "none" : text;
}

}  // namespace

nlohmann::json recorded_data(const nlohmann::json& record) {
  return record.is_object() ? record.value("data", nlohmann::json()) : nlohmann::json();
}

std::vector<DataDifference> data_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<DataDifference> differences;
  for (const DataFact& fact : kFacts) {
    const nlohmann::json first = value_of(one, fact), second = value_of(other, fact);
    if (first.is_null() && (fact.may_lack || !second.is_array())) continue;
    if (second.is_null() && (fact.may_lack || !first.is_array())) continue;
    DataDifference found{.title = fact.title, .one = text_of(first), .other = text_of(second)};
    if (found.one != found.other) differences.push_back(std::move(found));
  }
  return differences;
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
