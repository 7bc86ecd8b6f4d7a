#include "cli/score_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/parts.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "report/table.h"

namespace roformer {
namespace {

using nlohmann::ordered_json;

std::string rounded(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string interval_text(const ScoreInterval& interval, int decimals) {
  return fmt::format("μ = {} ± {}", rounded(interval.mean, decimals),
                     rounded(interval.half_width, decimals));
}

// sacreBLEU omits the interval if its mean is 0.
bool has_interval(const SystemScore& score) {
  return score.interval && score.interval->mean > 0;
}

std::string number_text(const SystemScore& score, int decimals) {
  std::string text = rounded(score.score.score, decimals);
  if (has_interval(score)) text += " (" + interval_text(*score.interval, decimals) + ")";
  return text;
}

// Writes numbers as Python does, as the shortest text that reads back as the same number.
std::string json_text(const ordered_json& json, int indent, bool ascii) {
  return json.dump(indent, ' ', ascii, ordered_json::error_handler_t::replace);
}

std::string json_object(const SystemScore& score, int decimals) {
  const auto number = [decimals](double value) { return std::stod(rounded(value, decimals)); };
  ordered_json object = {{"name", score.score.name},
                         {"score", number(score.score.score)},
                         {"signature", score.signature}};
  if (has_interval(score)) {
    object["confidence_mean"] = number(score.interval->mean);
    object["confidence_var"] = number(score.interval->half_width);
    object["confidence"] = interval_text(*score.interval, decimals);
  }
  if (!score.score.details.empty()) object["verbose_score"] = score.score.details;
  for (const std::string_view fact : split_at(score.signature, '|')) {
    const std::size_t colon = fact.find(':');
    object[std::string(fact.substr(0, colon))] = fact.substr(colon + 1);
  }
  return json_text(object, 1, /*ascii=*/false);
}

std::string json_report(const std::vector<SystemScore>& scores, int decimals) {
  std::vector<std::string> objects;
  for (const SystemScore& score : scores) objects.push_back(json_object(score, decimals));
  if (objects.size() == 1) return objects.front() + "\n";
  return fmt::format("[\n{}\n]\n", fmt::join(objects, ",\n"));
}

std::string explanation(const ScoreTable& table) {
  const bool bootstrap = table.test == PairedTest::bootstrap;
  std::string text = fmt::format(
      "p: paired {} test against the baseline as sacreBLEU computes it, {} {}, seed {}. ",
      bootstrap ? "bootstrap resampling" : "approximate randomization",
      format_count(static_cast<std::int64_t>(table.samples)), bootstrap ? "resamples" : "trials",
      table.seed);
  if (bootstrap) {
    text += fmt::format(
        "It is nearly one-sided where one system is clearly ahead. p, two-sided: paired "
        "approximate randomization (Riezler and Maxwell 2005), {} trials, the same seed. ",
        format_count(static_cast<std::int64_t>(table.trials)));
  }
  text +=
      "A p-value is about the probability of a difference this large or larger if the same process "
      "had generated both translations; below 0.05 the systems differ significantly, which does "
      "not say which is better.";
  if (bootstrap) {
    text += " The 95 % interval is that of the resampled scores around their mean.";
  }
  return text;
}

std::string text_table(const ScoreTable& scores, int decimals) {
  const NumberFormat format{NumberFormat::Style::fixed, decimals};
  const bool tested = scores.test != PairedTest::none;
  const bool intervals = scores.test == PairedTest::bootstrap;
  std::vector<Column> columns = {{.title = "System", .alignment = Column::Alignment::left}};
  for (const MetricColumn& metric : scores.columns) {
    columns.push_back({.title = metric.name, .format = format});
    if (intervals) columns.push_back({.title = "95 % interval", .format = format});
    if (tested) columns.push_back({.title = "p", .format = {NumberFormat::Style::fixed, 4}});
    if (intervals) {
      columns.push_back({.title = "p, two-sided", .format = {NumberFormat::Style::fixed, 4}});
    }
  }
  Table table(columns);
  for (std::size_t i = 0; i < scores.systems.size(); ++i) {
    std::vector<Cell> cells = {scores.systems[i]};
    for (const MetricColumn& metric : scores.columns) {
      const PairedResult& result = metric.results[i];
      cells.emplace_back(result.score);
      if (intervals) {
        cells.emplace_back(MeanAndDeviation{.mean = result.interval->mean,
                                            .deviation = result.interval->half_width,
                                            .count = static_cast<std::int64_t>(scores.samples)});
      }
      if (tested) cells.push_back(result.p_value ? Cell(*result.p_value) : Cell());
      if (intervals) cells.push_back(result.two_sided_p ? Cell(*result.two_sided_p) : Cell());
    }
    table.add_row(std::move(cells));
  }
  std::string text = to_text(table, for_terminal()) + "\n";
  if (tested) text += wrapped(explanation(scores), terminal_width()) + "\n\n";
  for (const MetricColumn& metric : scores.columns) {
    text += metric.name + "|" + metric.signature + "\n";
  }
  return text;
}

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_cell(const PairedResult& result, const ScoreTable& table, int decimals) {
  if (table.test == PairedTest::none) return rounded(result.score, decimals);
  ordered_json cell = {{"score", result.score},
                       {"p_value", number_or_null(result.p_value)},
                       {"mean", nullptr},
                       {"ci", nullptr}};
  if (result.interval) {
    cell["mean"] = result.interval->mean;
    cell["ci"] = result.interval->half_width;
    cell["p_two_sided"] = number_or_null(result.two_sided_p);
  }
  return cell;
}

std::string json_table(const ScoreTable& table, int decimals) {
  ordered_json systems = ordered_json::array();
  for (std::size_t i = 0; i < table.systems.size(); ++i) {
    ordered_json system = {{"system", table.systems[i]}};
    for (const MetricColumn& metric : table.columns) {
      system[metric.name] = json_cell(metric.results[i], table, decimals);
    }
    systems.push_back(std::move(system));
  }
  return json_text(systems, 4, /*ascii=*/true) + "\n";
}

}  // namespace

std::string score_line(const SystemScore& score, const ScoreReportOptions& options) {
  const std::string number = number_text(score, options.decimals);
  if (options.score_only) return number;
  std::string line = score.score.name + "|" + score.signature + " = " + number;
  if (!score.score.details.empty()) line += " " + score.score.details;
  return line;
}

std::string score_report(const std::vector<SystemScore>& scores,
                         const ScoreReportOptions& options) {
  if (options.format == ScoreFormat::json) return json_report(scores, options.decimals);
  std::vector<std::string> lines;
  std::size_t widest = 0;
  for (const SystemScore& score : scores) {
    lines.push_back(score_line(score, options));
    if (!options.score_only) widest = std::max(widest, lines.back().find(" = "));
  }
  std::string report;
  for (const std::string& line : lines) {
    const std::size_t left = options.score_only ? widest : line.find(" = ");
    report += std::string(widest - left, ' ') + line + "\n";
  }
  return report;
}

std::string score_table(const ScoreTable& table, const ScoreReportOptions& options) {
  return options.format == ScoreFormat::json ? json_table(table, options.decimals)
                                             : text_table(table, options.decimals);
}

}  // namespace roformer
