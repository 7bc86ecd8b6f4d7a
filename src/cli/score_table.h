// What `roformer score` prints of several systems, in sacreBLEU's layout: a table with a column for
// each metric, what a paired test says, and the signatures; or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/score_report.h"
#include "metrics/resampling.h"

namespace roformer {

enum class PairedTest { none, bootstrap, randomization };

struct MetricColumn {
  std::string name;
  std::string signature;
  std::vector<PairedResult> results;  // one a system
};

struct ScoreTable {
  std::vector<std::string> systems;  // the first is the baseline of a test
  std::vector<MetricColumn> columns;
  PairedTest test = PairedTest::none;
  std::size_t samples = 0;  // resamples or trials
};

std::string score_table(const ScoreTable& table, const ScoreReportOptions& options);

}  // namespace roformer
