// What `roformer score` prints of one system, in sacreBLEU's formats: a line or a JSON object for
// each metric.
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
  bool score_only = false;  // of the text
};

struct SystemScore {
  TranslationScore score;
  std::string signature;
  std::optional<ScoreInterval> interval;
};

// "BLEU|nrefs:1|...|version:2.6.0 = 26.7 (μ = 26.6 ± 0.7) 58.8/32.5/20.2/13.1 (BP = ...)"
std::string score_line(const SystemScore& score, const ScoreReportOptions& options);

// The lines with their equals signs below each other, or the JSON; ends with a line feed.
std::string score_report(const std::vector<SystemScore>& scores, const ScoreReportOptions& options);

// A float as Python writes it: the shortest text that reads back as the same number.
std::string python_number(double value);

}  // namespace roformer
