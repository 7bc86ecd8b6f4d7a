// The flags of `roformer score`, named as sacreBLEU's where it has them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/score_report.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/resampling.h"
#include "metrics/ter.h"

namespace roformer {

struct ScoreOptions {
  std::string hypotheses;
  std::vector<std::string> references;
  std::vector<std::string> others;
  std::vector<std::string> metrics = {"bleu"};
  BleuSettings bleu;
  ChrfSettings chrf;
  TerSettings ter;
  bool sentence_level = false;
  bool confidence = false;
  std::size_t confidence_samples = 1000;
  bool bootstrap = false;
  std::size_t bootstrap_samples = 1000;
  bool randomization = false;
  std::size_t randomization_trials = 10000;
  std::uint64_t seed = kResamplingSeed;
  ScoreReportOptions report;
};

// `options` must live until the callback has run.
void add_score_flags(CLI::App& command, ScoreOptions& options);

// Throws Error (usage) for flags that do not go together.
void check_score_options(const ScoreOptions& options);

}  // namespace roformer
