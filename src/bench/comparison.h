// Two programs at the same work, one after the other and round by round, so that what disturbs the
// machine disturbs both: a file names the pairs of commands, each of which prints one JSON object,
// and the figure of it that counts. `roformer bench compare` runs it.
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
  std::string ours;     // what follows `roformer`, for the shell
  std::string peer;     // whose program: "Hugging Face, eager"
  std::string command;  // the peer's, for the shell
  std::string figure;   // key of the JSON objects: "step_ms", "sentences_per_s"
  std::string note;     // what is not equal
};

struct SpeedComparison {
  std::filesystem::path file;
  std::int64_t rounds = 3;
  std::vector<ComparedPair> pairs;
};

// Throws Error (usage) with every problem of the file.
SpeedComparison read_comparison(const std::filesystem::path& file);

// What one program did in one round.
struct Timing {
  double figure = 0;
  double memory = 0;  // MiB, resident, at most
};

struct ComparedTimings {
  std::vector<Timing> ours, peers;  // [rounds]
};

// Of a figure that is better when it is higher: a rate, "..._per_s".
bool is_rate(const std::string& figure);

// How many times as fast ours was, of two figures of one round.
double advantage(const std::string& figure, double ours, double peer);

struct ComparisonOptions {
  std::filesystem::path scratch;  // an existing folder for the commands' output
  std::string program;            // a path; started with the words of ComparedPair::ours
};

// All rounds of one pair. A command that fails or prints no such figure throws Error (failure) with
// the last line that it wrote; a signal to stop ends it and throws Error.
ComparedTimings compare(const ComparedPair& pair, std::int64_t rounds,
                        const ComparisonOptions& options);

struct MeasuredPair {
  ComparedPair pair;
  ComparedTimings timings;
  std::string commit;  // of the program that was timed
};

// Medians, with the range of the ratio over the rounds, and the commits where they differ.
Table comparison_table(const std::vector<MeasuredPair>& measured);

// The record that a published table stands beside, as record.h has it of a study; `machine` says
// where it was timed.
void write_comparison_record(const std::filesystem::path& record, const std::filesystem::path& file,
                             const std::vector<MeasuredPair>& measured, const Origin& origin,
                             const nlohmann::ordered_json& machine);

// The pairs of `comparison` that a record holds, timed on the same processor with the same
// commands: what a measurement of the others leaves as it is, each with the commit that it was
// timed with. None where there is no record yet; throws Error (failure) for one that is damaged or
// was edited.
std::vector<MeasuredPair> measured_before(const std::filesystem::path& record,
                                          const SpeedComparison& comparison,
                                          const nlohmann::ordered_json& machine);

}  // namespace roformer
