// The evaluations of a study at several lengths as a table, and as charts of the loss against the
// length and against the position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/length_rows.h"
#include "report/chart.h"
#include "report/table.h"

namespace roformer {

// A row a model or variant, a column a length; lengths stand with their share of the training's
// where that is the same for all ("256 (2x)"), else alone.
Table length_table(const std::vector<LengthRow>& rows, std::optional<std::int64_t> training_length);

// Which checkpoints were evaluated.
std::string weights_sentence(const std::vector<LengthRow>& rows);

// What has no figure and why; no rows where all have.
Table missing_lengths(const std::vector<LengthRow>& rows);

// Loss against length: the models as trained; then, for each scheme with variants, these beside it.
// Loss at each position of the longest text that they were evaluated at, in the same groups.
std::vector<LineChart> length_charts(const std::vector<LengthRow>& rows,
                                     std::optional<std::int64_t> training_length);

}  // namespace roformer
