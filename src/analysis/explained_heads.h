// Ways through what is explained: the layers of all runs, the heads of one or of all.
#pragma once

#include <vector>

#include "analysis/explain_report.h"

namespace roformer {

// what(layer, head)
template <typename Do>
void for_each_head(const ExplainedRun& run, Do what) {
  for (const LayerExplanation& layer : run.explanation.layers) {
    for (const HeadExplanation& head : layer.heads) what(layer, head);
  }
}

// what(run, layer) and what(run, layer, head), run by run.
template <typename Do>
void for_each_layer(const std::vector<ExplainedRun>& runs, Do what) {
  for (const ExplainedRun& run : runs) {
    for (const LayerExplanation& layer : run.explanation.layers) what(run, layer);
  }
}
template <typename Do>
void for_each_head(const std::vector<ExplainedRun>& runs, Do what) {
  for (const ExplainedRun& run : runs) {
    for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
      what(run, layer, head);
    });
  }
}

}  // namespace roformer
