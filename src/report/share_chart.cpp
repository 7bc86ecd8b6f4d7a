// Bars of equal length, one a name, cut into shares: what a whole is made of, name by name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/svg.h"

namespace roformer {
namespace {

constexpr double kBarRow = 22;
constexpr double kBar = 15;  // height
constexpr double kGroupGap = 8;

class ShareDrawing {
 public:
  explicit ShareDrawing(const ShareChart& chart) : chart_(chart) {
    legend_ = {.names = chart.parts, .sample = Legend::Sample::dot, .width = chart.width - 32.0};
    double names = 0, labels = 0;
    for (const ShareBar& bar : chart.bars) {
      ROFORMER_ASSERT(bar.shares.size() == chart.parts.size());
      names = std::max(names, text_width(bar.name, kFontSize));
      labels = std::max(labels, text_width(bar.label, kFontSize));
    }
    area_.top = heading().height(false) + legend_.height();
    area_.left = 28 + std::min(names, 0.4 * chart.width);
    area_.width = std::max(60.0, chart.width - area_.left - labels - 34);
    double y = area_.top + 3;
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
      if (i > 0 && chart.bars[i].group != chart.bars[i - 1].group) y += kGroupGap;
      tops_.push_back(y);
      y += kBarRow;
    }
    area_.height = y - area_.top + 3;
  }

  std::string draw(SvgUse use) const {
    const Axis axis{.title = chart_.axis, .unit = "%"};
    std::string content = legend_.draw(16, heading().height(false) - 6);
    content += horizontal_axis(axis, {.low = 0, .high = 100}, area_);
    for (std::size_t i = 0; i < chart_.bars.size(); ++i) content += draw_bar(i);
    return svg_document({.title = chart_.title,
                         .subtitle = chart_.subtitle,
                         .description = fmt::format("Shares of {} parts in {} bars.",
                                                    chart_.parts.size(), chart_.bars.size()),
                         .width = static_cast<double>(chart_.width),
                         .height = area_.bottom() + 50,
                         .use = use},
                        content);
  }

 private:
  const ShareChart& chart_;
  Legend legend_;
  PlotArea area_;
  std::vector<double> tops_;

  Heading heading() const {
    return {.title = chart_.title,
            .subtitle = chart_.subtitle,
            .width = static_cast<double>(chart_.width)};
  }

  std::string draw_bar(std::size_t index) const {
    const ShareBar& bar = chart_.bars[index];
    const double y = tops_[index], baseline = y + kBar / 2 + 4.2;
    std::string result = svg_text(area_.left - 10, baseline, fitted_text(bar.name, area_.left - 14),
                                  {.classes = "ink", .anchor = "end"}) +
                         svg_text(area_.right() + 12, baseline, bar.label, {.classes = "tick"});
    double x = area_.left;
    for (std::size_t part = 0; part < bar.shares.size(); ++part) {
      const double share = bar.shares[part];
      if (!std::isfinite(share) || share <= 0) continue;
      const double width = area_.width * share;
      result += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"fill c{}\">"
          "<title>{}</title></rect>\n",
          coordinate(x), coordinate(y), coordinate(width), coordinate(kBar), series_colour(part),
          escape_xml(fmt::format("{}, {}: {:.1f} %", bar.name, chart_.parts[part], 100 * share)));
      x += width;
    }
    return result;
  }
};

}  // namespace

std::string to_svg(const ShareChart& chart, SvgUse use) {
  return ShareDrawing(chart).draw(use);
}

}  // namespace roformer
