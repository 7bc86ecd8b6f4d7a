// What a table and a report know of one run of a study, whatever kind of run it was.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roformer {

struct CurvePoint {
  double x = 0;
  double y = 0;
};

struct RunResult {
  enum class State {
    finished,
    not_finished,  // not begun, or stopped on its way
    failed,        // killed, or for want of something: another attempt may go on
    diverged,      // its settings' doing: another attempt would end there, too
    refused,       // its settings contradict themselves
  };

  std::string name;                 // "rope-seed1"
  std::vector<std::string> values;  // one of each axis of the study
  State state = State::not_finished;
  std::string remark;                                     // why it failed or was refused
  std::map<std::string, double> figures;                  // by the name of the metric
  std::map<std::string, std::vector<CurvePoint>> curves;  // metrics over the steps
  nlohmann::json record;                                  // the run's run.json, null without
};

// What the times of a run depend on, as its record tells it: "AMD EPYC, 2 cores, threads 1"; with a
// GPU or several processes where they were. "" where that is not known.
std::string machine_of(const RunResult& run);
// As far as the records tell: those of before name no model of the processor. The same of texts
// that hold processor_name().
bool same_machine(const RunResult& a, const RunResult& b);
bool same_processor(const std::string& one, const std::string& other);

// "finished", "not finished", "failed", "diverged", "cannot be run".
std::string state_word(RunResult::State state);

// The fingerprint of the data in a run's record; "" where it has none.
std::string data_fingerprint(const nlohmann::json& record);

}  // namespace roformer
