#include "experiments/run_result.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "config/words.h"
#include "runs/model_source.h"
#include "tasks/data_record.h"

namespace roformer {
namespace {

struct DataFact {
  const char* field;  // of run.json's "data"
  const char* title;
  bool may_lack = false;  // older programs did not write this list: its absence says nothing
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

nlohmann::json member(const nlohmann::json& object, const char* name) {
  return object.is_object() ? object.value(name, nlohmann::json()) : nlohmann::json();
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

std::optional<double> RunResult::figure(const std::string& metric) const {
  const auto found = figures.find(metric);
  if (!finished() || found == figures.end()) return std::nullopt;
  return found->second;
}

std::string recorded_text(const nlohmann::json& record, const std::string& path) {
  const nlohmann::json::json_pointer pointer(path);
  if (!record.is_object() || !record.contains(pointer)) return "";
  const nlohmann::json& value = record[pointer];
  return value.is_string() ? value.get<std::string>() : describe_json(value);
}

std::string attention_gradient_of(const nlohmann::json& record) {
  const std::string recorded = recorded_text(record, "/attention/gradient");
  if (!recorded.empty()) return recorded;
  return recorded_text(record, "/precision") == to_word(Precision::fp32)
             ? to_word(AttentionGradient::exact)
             : "";
}

std::string machine_of(const RunResult& run) {
  const auto fact = [&](const char* pointer) { return recorded_text(run.record, pointer); };
  const std::string processor = fact("/machine/processor");
  if (processor.empty()) return "";
  std::string text = fmt::format("{}, {} cores, threads {}", processor, fact("/machine/cores"),
                                 fact("/machine/threads"));
  const std::string device = fact("/device");
  if (!device.empty() && device != "cpu") text = device + " beside " + text;
  const std::string processes = fact("/processes");
  if (!processes.empty() && processes != "1") text += fmt::format(", {} processes", processes);
  return text;
}

bool same_processor(const std::string& one, const std::string& other) {
  constexpr std::string_view kModel = " (family ";  // as processor_name() writes it
  const auto begin = [&](const std::string& text) { return text.find(kModel); };
  const auto without = [&](std::string text) {
    const std::size_t first = begin(text);
    return first == std::string::npos ? text : text.erase(first, text.find(')', first) + 1 - first);
  };
  if ((begin(one) == std::string::npos) == (begin(other) == std::string::npos)) return one == other;
  return without(one) == without(other);
}

bool same_machine(const RunResult& a, const RunResult& b) {
  return same_processor(machine_of(a), machine_of(b));
}

std::string state_word(RunResult::State state) {
  static constexpr std::array kWords = {"finished", "not finished", "failed", "diverged",
                                        "cannot be run"};
  return kWords.at(static_cast<std::size_t>(state));
}

nlohmann::json recorded_data(const nlohmann::json& record) {
  return member(record, "data");
}

std::vector<DataDifference> data_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<DataDifference> differences;
  for (const DataFact& fact : kFacts) {
    const nlohmann::json first = member(one, fact.field), second = member(other, fact.field);
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
