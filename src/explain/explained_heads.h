// Ways through what is explained: the layers and heads of one run or of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/explain_report.h"

namespace roformer {

// what(number, layer) for each layer, what(layer, head) for each head.
template <typename Do>
void for_each_layer(const ExplainedRun& run, Do what) {
  std::int64_t number = 0;
  for (const LayerExplanation& layer : run.explanation.layers) what(number++, layer);
}
template <typename Do>
void for_each_head(const ExplainedRun& run, Do what) {
  for (const LayerExplanation& layer : run.explanation.layers) {
    for (const HeadExplanation& head : layer.heads) what(layer, head);
  }
}

// what(run, number, layer) and what(run, layer, head), run by run.
template <typename Do>
void for_each_layer(const std::vector<ExplainedRun>& runs, Do what) {
  for (const ExplainedRun& run : runs) {
    for_each_layer(
        run, [&](std::int64_t number, const LayerExplanation& layer) { what(run, number, layer); });
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
