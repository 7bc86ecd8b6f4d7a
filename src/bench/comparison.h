// `roformer bench compare`: two programs do the same work, alternating round by round, so that a
// disturbance of the machine affects both. A file names the pairs of commands. Each command prints
// one JSON object, and one of its figures is compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/origin.h"
#include "report/table.h"

namespace roformer {

struct ComparedPair {
  std::string work;     // "pretraining step, small, fp32"
  std::string ours;     // the words after `roformer`, for the shell
  std::string peer;     // the peer program: "Hugging Face, eager"
  std::string command;  // the peer's, for the shell
  std::string figure;   // key of the JSON objects: "step_ms", "sentences_per_s"
  std::string note;     // the differences between the two
};

struct SpeedComparison {
  std::filesystem::path file;
  std::int64_t rounds = 3;
  std::vector<ComparedPair> pairs;
};

// Throws Error (usage) with every problem of the file.
SpeedComparison read_comparison(const std::filesystem::path& file);

// One program in one round.
struct Timing {
  double figure = 0;
  double memory = 0;  // MiB, resident, at most
};

struct ComparedTimings {
  std::vector<Timing> ours, peers;  // [rounds]
};

// Whether a higher figure is better: a rate, "..._per_s".
bool is_rate(const std::string& figure);

// Our speed divided by the peer's, from two figures of one round.
double advantage(const std::string& figure, double ours, double peer);

struct ComparisonOptions {
  std::filesystem::path scratch;  // an existing folder for the commands' output
  std::string program;            // a path; started with the words of ComparedPair::ours
};

// Runs all rounds of one pair. Throws Error (failure) for a command that fails, with its last line,
// or prints no such figure. A signal to stop ends the command and throws Error.
ComparedTimings compare(const ComparedPair& pair, std::int64_t rounds,
                        const ComparisonOptions& options);

struct MeasuredPair {
  ComparedPair pair;
  ComparedTimings timings;
  std::string commit;  // of the program that was timed
};

// Medians with the range of the ratio over the rounds, and the commits if they differ.
Table comparison_table(const std::vector<MeasuredPair>& measured);

// The record of a published table, like that of a study (experiments/record.h); `machine` says
// where it was timed.
void write_comparison_record(const std::filesystem::path& record, const std::filesystem::path& file,
                             const std::vector<MeasuredPair>& measured, const Origin& origin,
                             const nlohmann::ordered_json& machine);

// The pairs of `comparison` in a record that were timed on the same processor with the same
// commands, each with its commit. A measurement of other pairs keeps them. Empty if there is no
// record yet. Throws Error (failure) for a record that is damaged or was edited.
std::vector<MeasuredPair> measured_before(const std::filesystem::path& record,
                                          const SpeedComparison& comparison,
                                          const nlohmann::ordered_json& machine);

}  // namespace roformer
