// The output of `roformer score`. For one system it is a line or a JSON object for each metric; for
// several systems, a table and the signatures, or JSON. The lines and the JSON are sacreBLEU's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/resampling.h"
#include "metrics/translation_metric.h"

namespace roformer {

enum class ScoreFormat { text, json };

struct ScoreReportOptions {
  ScoreFormat format = ScoreFormat::text;
  int decimals = 1;
  bool score_only = false;  // print the score alone, for text output
};

struct SystemScore {
  TranslationScore score;
  std::string signature;
  std::optional<ScoreInterval> interval;
};

// "BLEU|nrefs:1|...|version:2.6.0 = 26.7 (μ = 26.6 ± 0.7) 58.8/32.5/20.2/13.1 (BP = ...)"
std::string score_line(const SystemScore& score, const ScoreReportOptions& options);

// The lines with their equals signs aligned, or the JSON; ends with a line feed.
std::string score_report(const std::vector<SystemScore>& scores, const ScoreReportOptions& options);

enum class PairedTest { none, bootstrap, randomization };

struct MetricColumn {
  std::string name;
  std::string signature;
  std::vector<PairedResult> results;  // one per system
};

struct ScoreTable {
  std::vector<std::string> systems;  // the first is the baseline of a test
  std::vector<MetricColumn> columns;
  PairedTest test = PairedTest::none;
  std::size_t samples = 0;  // number of resamples or trials
  std::size_t trials = 0;   // of the two-sided test beside a bootstrap
  std::uint64_t seed = 0;
};

std::string score_table(const ScoreTable& table, const ScoreReportOptions& options);

}  // namespace roformer
