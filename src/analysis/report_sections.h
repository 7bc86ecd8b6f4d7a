// The sections of the page that shows explanations, and the words that they share. Each takes all
// runs, and leaves itself out where there is nothing to show.
#pragma once

#include <string>
#include <vector>

#include "analysis/explain_report.h"
#include "report/html.h"

namespace roformer {

void add_summary(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Shares of the scores' variance.
void add_shares(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Masses by distance and at known positions.
void add_distances(HtmlReport& report, const std::vector<ExplainedRun>& runs);
// Biases and parameters as trained.
void add_trained_positions(HtmlReport& report, const std::vector<ExplainedRun>& runs);
void add_frequencies(HtmlReport& report, const std::vector<ExplainedRun>& runs);
void add_ablations(HtmlReport& report, const std::vector<ExplainedRun>& runs);

// "rope: " before the titles of charts, where there are two runs.
std::string prefix_of(const ExplainedRun& run, const std::vector<ExplainedRun>& runs);
std::string title_of(const HeadExplanation& head);
// "12.3 %", and "12.3 ± 0.4 %" where the error is known.
std::string shown_share(double share);
std::string shown_share(double share, double standard_error);

}  // namespace roformer
