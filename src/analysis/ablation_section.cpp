// The losses without positions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/explained_heads.h"
#include "analysis/report_sections.h"

namespace roformer {
namespace {

constexpr std::size_t kMostHeads = 24;  // in a chart of losses
const NumberFormat kNats{.style = NumberFormat::Style::fixed, .digits = 4};

Dot loss_dot(const std::string& name, const LossChange& change) {
  Dot dot{.name = name, .value = change.change};
  if (std::isfinite(change.reach)) {
    dot.low = change.change - change.reach;
    dot.high = change.change + change.reach;
  }
  return dot;
}

DotChart chart_of_heads(const ExplainedRun& run, const std::string& prefix) {
  std::vector<const HeadExplanation*> heads;
  for_each_head(
      run, [&](const LayerExplanation&, const HeadExplanation& head) { heads.push_back(&head); });
  DotChart chart{.title = prefix + "Loss without the positions of one head",
                 .value = {.title = "change of the loss", .unit = "nats"},
                 .format = kNats,
                 .references = {{.value = 0}}};
  if (heads.size() > kMostHeads) {
    chart.subtitle = fmt::format(
        "the {} of {} heads whose change is largest; all are in "
        "ablations.csv",
        kMostHeads, heads.size());
    std::stable_sort(heads.begin(), heads.end(), [](const auto* a, const auto* b) {
      return std::abs(a->without_positions.change) > std::abs(b->without_positions.change);
    });
    heads.resize(kMostHeads);
  }
  for (const HeadExplanation* head : heads) {
    chart.dots.push_back(loss_dot(title_of(*head), head->without_positions));
  }
  return chart;
}

}  // namespace

void add_ablations(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  const auto asked = [](const ExplainedRun& run) {
    return run.explanation.ablated || !run.explanation.ablation.empty();
  };
  if (std::ranges::none_of(runs, asked)) return;
  report.section("The loss without positions");
  report.paragraph(
      "Positions are switched off at evaluation, in one head, one layer or all of them; nothing "
      "is trained anew. The difference of the losses is paired target by target; lines reach as "
      "far as 95 % of it does, by the texts.");
  for (const ExplainedRun& run : runs) {
    report.paragraph(
        fmt::format("**{}**: {}.", run.name, fmt::join(run.explanation.ablation, "; ")));
    if (!run.explanation.ablated) continue;
    DotChart layers{.title = prefix_of(run, runs) + "Loss without positions, by layer",
                    .value = {.title = "change of the loss", .unit = "nats"},
                    .format = kNats,
                    .references = {{.value = 0}}};
    layers.dots.push_back(loss_dot("all layers", run.explanation.without_positions));
    for (const Explanation::StackChange& stack : run.explanation.stacks) {
      layers.dots.push_back(loss_dot("all layers of the " + stack.stack, stack.without_positions));
    }
    for (const LayerExplanation& layer : run.explanation.layers) {
      layers.dots.push_back(loss_dot(layer.layer.title(), layer.without_positions));
    }
    report.chart(layers);
    report.chart(chart_of_heads(run, prefix_of(run, runs)));
  }
}

}  // namespace roformer
