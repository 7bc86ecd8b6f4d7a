// The beginning of the page: the key figures of each run, and what stands out, in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/explained_heads.h"
#include "analysis/report_sections.h"
#include "base/progress.h"

namespace roformer {
namespace {

// "± 0.0123" between two texts; nothing where one text alone tells no error.
std::string shown_error(double error, const char* before, const char* after = "") {
  return std::isfinite(error) ? fmt::format("{}± {:.4f}{}", before, error, after) : "";
}

// Three sentences on what stands out.
std::string in_words(const ExplainedRun& run) {
  const HeadExplanation* positional = nullptr;
  const HeadExplanation* needed = nullptr;
  std::string looking;
  double most = -1;
  for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
    if (std::isfinite(head.shares.content_content) &&
        (positional == nullptr || head.shares.of_positions() > positional->shares.of_positions())) {
      positional = &head;
    }
    if (needed == nullptr || head.without_positions.change > needed->without_positions.change) {
      needed = &head;
    }
    const std::pair<const char*, const at::Tensor&> masses[] = {
        {"the token before", layer.masses.previous},
        {"the next token", layer.masses.next},
        {"the first token", layer.masses.first},
        {"the query's own token", layer.masses.own}};
    for (const auto& [name, mass] : masses) {
      const double value = mass[head.head].item<double>();
      if (value <= most) continue;
      most = value;
      looking = fmt::format("{} looks at one position the most: {} of its attention is on {}",
                            title_of(head), shown_share(value), name);
    }
  });
  std::string text = "**" + run.name + "**: ";
  text += positional == nullptr
              ? "No score varies. "
              : fmt::format(
                    "the scores of {} depend most on positions ({} of their variance, {} "
                    "of it whatever the contents are). ",
                    title_of(*positional),
                    shown_share(positional->shares.of_positions(),
                                positional->shares.errors.of_positions),
                    shown_share(positional->shares.position_position /
                                std::max(1e-12, positional->shares.of_positions())));
  text += "Of all heads, " + looking + ". ";
  if (run.explanation.ablated && needed != nullptr) {
    const LossChange& change = needed->without_positions;
    text += fmt::format(
        "The loss grows most where {} loses its positions: {:+.4f}{} nats, of {:+.4f} for all "
        "layers.",
        title_of(*needed), change.change, shown_error(change.standard_error, " "),
        run.explanation.without_positions.change);
  }
  return text;
}

}  // namespace

void add_summary(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  for (const ExplainedRun& run : runs) {
    const Explanation& e = run.explanation;
    double positions = 0;
    double count = 0;
    for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
      if (!std::isfinite(head.shares.content_content)) return;
      positions += head.shares.of_positions();
      count += 1;
    });
    std::vector<HtmlReport::KeyFigure> figures{
        {.value = fmt::format("{:.4f}", e.loss),
         .name = "loss, nats",
         .remark = shown_error(e.standard_error, "", ", ") + run.name},
        {.value = count > 0 ? shown_share(positions / count) : "–",
         .name = "of the scores' variance depends on positions",
         .remark = "mean of the heads, " + run.name}};
    if (e.ablated) {
      figures.push_back(
          {.value = fmt::format("{:+.4f}", e.without_positions.change),
           .name = "loss without positions, nats",
           .remark = shown_error(e.without_positions.standard_error, "", ", ") + "all layers"});
    }
    report.key_figures(figures);
    report.paragraph(in_words(run));
  }
  std::string texts;
  for (const ExplainedRun& run : runs) {
    const Explanation& e = run.explanation;
    const std::string own = fmt::format("{} ({} targets)", e.texts, format_count(e.targets));
    if (texts.find(own) != std::string::npos) continue;
    texts += (texts.empty() ? "" : " and ") + own;
  }
  report.paragraph(fmt::format(
      "Measured on {} of the data that the model was not trained on. Layers and heads "
      "are counted from 0. What is said is of these weights: a head that "
      "could be spared here may be needed elsewhere, and a model that was trained without it "
      "might do as well.",
      texts));
}

}  // namespace roformer
