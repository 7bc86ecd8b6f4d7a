// The result of one run of a study, whatever its task: figures, curves and, from its run.json, the
// machine and the data. Runs are compared, kept and merged only if their data agree.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

struct CurvePoint {
  double x = 0;
  double y = 0;
};

struct RunResult {
  enum class State {
    finished,
    not_finished,  // not begun, or interrupted
    failed,        // killed, or the environment failed: another attempt may succeed
    diverged,      // because of its settings: another attempt would diverge, too
    refused,       // its settings contradict each other
  };

  std::string name;                 // "rope-seed1"
  std::vector<std::string> values;  // one for each axis of the study
  State state = State::not_finished;
  std::string remark;                                     // why it failed or was refused
  std::map<std::string, double> figures;                  // by the name of the metric
  std::map<std::string, std::vector<CurvePoint>> curves;  // metrics over the steps
  nlohmann::json record;                                  // the run's run.json; null: none

  bool finished() const { return state == State::finished; }
  // A figure of a finished run. Empty if the run is not finished or lacks the figure.
  std::optional<double> figure(const std::string& metric) const;
};

// The value at a JSON pointer of a run.json as text; "" if there is none.
std::string recorded_text(const nlohmann::json& record, const std::string& pointer);

// How exact the attention of a run made its gradient, "exact" or "fast"; "" if its program did not
// record that and it was not trained in fp32.
std::string attention_gradient_of(const nlohmann::json& record);

// The machine on which the run's times were measured: "AMD EPYC, 2 cores, threads 1", with the GPU
// or the number of processes if they were used. "" if the record does not say.
std::string machine_of(const RunResult& run);
// Older records do not name the processor's model. Such a text counts as equal to one that adds a
// model. The texts hold processor_name().
bool same_machine(const RunResult& a, const RunResult& b);
bool same_processor(const std::string& one, const std::string& other);

// "finished", "not finished", "failed", "diverged", "cannot be run".
std::string state_word(RunResult::State state);

// The "data" of a run.json; null if there is none.
nlohmann::json recorded_data(const nlohmann::json& record);

struct DataDifference {
  std::string title;       // "tokenizer of the data"
  std::string one, other;  // as messages show it
};

// Null means unknown data. A fact that only one side has is no difference, since programs of other
// versions wrote other facts. A missing list counts as an empty one.
std::vector<DataDifference> data_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

// The facts about the settings' data as they are on disk now (tasks/data_record.h), and about the
// model from which the training starts. Null if they cannot be read: the data of a training may be
// gone.
nlohmann::json data_today(const Settings& settings);

}  // namespace roformer
