#include "experiments/run_result.h"

#include <fmt/format.h>

#include <string_view>

#include "base/json.h"

namespace roformer {
namespace {

std::string text_at(const nlohmann::json& record, const std::string& path) {
  const nlohmann::json::json_pointer pointer(path);
  if (!record.is_object() || !record.contains(pointer)) return "";
  return record[pointer].is_string() ? record[pointer].get<std::string>()
                                     : describe_json(record[pointer]);
}

}  // namespace

std::string machine_of(const RunResult& run) {
  const std::string processor = text_at(run.record, "/machine/processor");
  if (processor.empty()) return "";
  std::string text =
      fmt::format("{}, {} cores, threads {}", processor, text_at(run.record, "/machine/cores"),
                  text_at(run.record, "/machine/threads"));
  const std::string device = text_at(run.record, "/device");
  if (!device.empty() && device != "cpu") text = device + " beside " + text;
  const std::string processes = text_at(run.record, "/processes");
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
  switch (state) {
    case RunResult::State::finished:
      return "finished";
    case RunResult::State::failed:
      return "failed";
    case RunResult::State::diverged:
      return "diverged";
    case RunResult::State::refused:
      return "cannot be run";
    default:
      return "not finished";
  }
}

std::string data_fingerprint(const nlohmann::json& record) {
  const nlohmann::json::json_pointer pointer("/data/fingerprint");
  if (!record.is_object() || !record.contains(pointer)) return "";
  return record[pointer].is_string() ? record[pointer].get<std::string>() : "";
}

}  // namespace roformer
