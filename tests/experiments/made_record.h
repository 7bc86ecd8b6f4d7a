// A small protocol (study.version) and records of it, without a training.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "experiments/fake_study.h"
#include "experiments/finished_run.h"
#include "experiments/record.h"
#include "experiments/study_rows.h"

namespace roformer {

struct Protocol : FakeStudy {
  // No encoder can have cope.
  explicit Protocol(const std::string& more = "version: 1",
                    const std::string& positions = "rope, sinusoidal, none, cope")
      : FakeStudy(positions) {
    write_file_atomically(path / "tiny.yaml", read_file(path / "tiny.yaml") +
                                                  "  seed: [1, 2]\n"
                                                  "study: {metric: validation_loss, columns: "
                                                  "[parameters], reference: rope, " +
                                                  more + "}\n");
  }
};

// One run of a record: a scheme, a seed and its loss.
struct Made {
  std::string position;
  std::string seed;
  double loss = 0;
};

// The record of a protocol whose runs are said to have come to that.
struct MadeRecord : Protocol {
  StudySettings study;
  std::filesystem::path file = path / "record.json";
  nlohmann::json machine = {{"processor", "a chip"}, {"cores", 2}, {"threads", 1}};
  nlohmann::json data = {{"fingerprint", "f00d"}, {"training_tokens", 100}};
  nlohmann::json attention;  // null: a program of before, which does not record it

  explicit MadeRecord(const std::string& more = "version: 1",
                      const std::vector<Override>& flags = {})
      : Protocol(more), study(load(flags)) {}

  const std::filesystem::path& write(const std::vector<Made>& made) {
    StudyResults outcome;
    std::vector<RunResult> results;
    std::erase_if(study.runs, [&](const StudyRun& run) {
      for (const Made& one : made) {
        if (run.values != std::vector<std::string>{one.position, one.seed}) continue;
        results.push_back(finished_run(one.position, one.seed, one.loss));
        results.back().name = run.name;
        results.back().record = {{"machine", machine}, {"data", data}};
        if (!attention.is_null()) results.back().record["attention"] = attention;
        return false;
      }
      return true;
    });
    outcome.rows = study_rows(study, results);
    write_study_record(file, path / "tiny.yaml", study, outcome,
                       {.command = "roformer study <tiny>", .version = "1", .commit = "abc"});
    return file;
  }
};

}  // namespace roformer
