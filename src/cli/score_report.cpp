#include "cli/score_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace roformer {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string rounded(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string rounded_number(double value, int decimals) {
  return python_number(std::stod(rounded(value, decimals)));
}

std::string interval_text(const ScoreInterval& interval, int decimals) {
  return fmt::format("μ = {} ± {}", rounded(interval.mean, decimals),
                     rounded(interval.half_width, decimals));
}

// sacreBLEU leaves out an interval around nothing.
bool has_interval(const SystemScore& score) {
  return score.interval && score.interval->mean > 0;
}

std::string number_text(const SystemScore& score, int decimals) {
  std::string text = rounded(score.score.score, decimals);
  if (has_interval(score)) text += " (" + interval_text(*score.interval, decimals) + ")";
  return text;
}

std::string json_object(const SystemScore& score, int decimals) {
  std::vector<std::string> members = {"\"name\": " + quoted(score.score.name),
                                      "\"score\": " + rounded_number(score.score.score, decimals),
                                      "\"signature\": " + quoted(score.signature)};
  if (has_interval(score)) {
    members.push_back("\"confidence_mean\": " + rounded_number(score.interval->mean, decimals));
    members.push_back("\"confidence_var\": " +
                      rounded_number(score.interval->half_width, decimals));
    members.push_back("\"confidence\": " + quoted(interval_text(*score.interval, decimals)));
  }
  if (!score.score.details.empty()) {
    members.push_back("\"verbose_score\": " + quoted(score.score.details));
  }
  std::size_t start = 0;
  while (start < score.signature.size()) {
    const std::size_t end = std::min(score.signature.find('|', start), score.signature.size());
    const std::size_t colon = score.signature.find(':', start);
    members.push_back(quoted(score.signature.substr(start, colon - start)) + ": " +
                      quoted(score.signature.substr(colon + 1, end - colon - 1)));
    start = end + 1;
  }
  return fmt::format("{{\n {}\n}}", fmt::join(members, ",\n "));
}

std::string json_report(const std::vector<SystemScore>& scores, int decimals) {
  std::vector<std::string> objects;
  for (const SystemScore& score : scores) objects.push_back(json_object(score, decimals));
  if (objects.size() == 1) return objects.front() + "\n";
  return fmt::format("[\n{}\n]\n", fmt::join(objects, ",\n"));
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

std::string python_number(double value) {
  if (!std::isfinite(value))
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  const double size = std::abs(value);
  // {} takes the exponent from 1e16 and below 1e-4, as Python does.
  std::string text = fmt::format("{}", value);
  if (size < 1e16 && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace roformer
