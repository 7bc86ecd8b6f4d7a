#include "tasks/language/evaluation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/hexadecimal.h"
#include "metrics/language.h"

namespace roformer {
namespace {

constexpr NumberFormat kLoss{.style = NumberFormat::Style::fixed, .digits = 4};
constexpr std::int64_t kBins = 32;  // points of a line over positions

Cell optional_cell(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell(std::monostate{});
}

bool has_changes(const EvaluationReport& report) {
  return std::ranges::any_of(report.lengths,
                             [](const EvaluatedLength& entry) { return entry.change.has_value(); });
}

}  // namespace

std::string describe(const ArrangementSettings& arrangement) {
  std::vector<std::string> words;
  if (arrangement.shift != 0)
    words.push_back(fmt::format("from position {} on", arrangement.shift));
  if (arrangement.drop_middle != 0) {
    words.push_back(fmt::format("{:g}% dropped", 100 * arrangement.drop_middle));
  }
  if (arrangement.shuffle_blocks != 0) {
    words.push_back(fmt::format("{} shuffled blocks", arrangement.shuffle_blocks));
  }
  return words.empty() ? "unchanged" : fmt::format("{}", fmt::join(words, ", "));
}

double loss_change(const LanguageEvaluation& plain, const LanguageEvaluation& arranged) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < plain.targets_by_position.size(); ++i) {
    if (arranged.targets_by_position[i] == 0 || plain.targets_by_position[i] == 0) continue;
    sum += plain.losses_by_position[i] * static_cast<double>(plain.targets_by_position[i]);
    count += plain.targets_by_position[i];
  }
  return arranged.loss - sum / static_cast<double>(count);
}

Table to_table(const EvaluationReport& report) {
  const bool changes = has_changes(report);
  using Style = NumberFormat::Style;
  const NumberFormat count{.style = Style::count};
  std::vector<Column> columns = {{.title = "length", .format = count}};
  if (changes) columns.push_back({.title = "text", .alignment = Column::Alignment::left});
  columns.push_back({.title = "loss", .unit = "nats", .format = kLoss});
  columns.push_back({.title = "±", .key = "loss_standard_error", .unit = "nats", .format = kLoss});
  if (changes) columns.push_back({.title = "change", .unit = "nats", .format = kLoss});
  columns.push_back({.title = report.causal ? "accuracy" : "masked accuracy",
                     .key = "accuracy",
                     .unit = "%",
                     .format = {.style = Style::percent, .digits = 2}});
  columns.push_back({.title = "perplexity", .format = {.style = Style::fixed, .digits = 2}});
  if (report.causal) {
    columns.push_back({.title = "bits/character",
                       .key = "bits_per_character",
                       .format = {.style = Style::fixed, .digits = 4}});
    columns.push_back({.title = "bits/byte",
                       .key = "bits_per_byte",
                       .format = {.style = Style::fixed, .digits = 4}});
  }
  const bool denominators = std::ranges::any_of(report.lengths, [](const EvaluatedLength& entry) {
    return entry.figures.denominators.has_value();
  });
  if (denominators) {
    columns.push_back({.title = "small denominators",
                       .key = "small_denominators",
                       .unit = "%",
                       .format = {.style = Style::percent, .digits = 3}});
    columns.push_back({.title = "least denominator",
                       .key = "least_denominator",
                       .format = {.style = Style::general, .digits = 2}});
  }
  columns.push_back({.title = "targets", .format = count});
  Table table(std::move(columns));
  for (const EvaluatedLength& entry : report.lengths) {
    std::vector<Cell> cells = {entry.length};
    if (changes) cells.emplace_back(describe(entry.arrangement));
    cells.emplace_back(entry.figures.loss);
    cells.emplace_back(entry.figures.standard_error);
    if (changes) cells.push_back(optional_cell(entry.change));
    cells.emplace_back(entry.figures.accuracy);
    cells.emplace_back(perplexity(entry.figures.loss));
    if (report.causal) {
      cells.push_back(optional_cell(entry.bits_per_character));
      cells.push_back(optional_cell(entry.bits_per_byte));
    }
    if (denominators) {
      const auto& found = entry.figures.denominators;
      cells.push_back(found ? Cell(found->small_share()) : Cell());
      cells.push_back(found ? Cell(found->least) : Cell());
    }
    cells.emplace_back(entry.figures.targets);
    table.add_row(std::move(cells));
  }
  return table;
}

nlohmann::ordered_json to_json(const EvaluationReport& report, bool by_position) {
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const EvaluatedLength& entry : report.lengths) {
    nlohmann::ordered_json object = {{"length", entry.length},
                                     {"shift", entry.arrangement.shift},
                                     {"drop_middle", entry.arrangement.drop_middle},
                                     {"shuffle_blocks", entry.arrangement.shuffle_blocks},
                                     {"loss", entry.figures.loss},
                                     {"loss_standard_error", entry.figures.standard_error},
                                     {"accuracy", entry.figures.accuracy},
                                     {"perplexity", perplexity(entry.figures.loss)},
                                     {"targets", entry.figures.targets},
                                     {"tokens", entry.figures.tokens}};
    if (const auto& denominators = entry.figures.denominators) {
      object["small_denominators"] = denominators->small_share();
      object["least_denominator"] = denominators->least;
    }
    if (entry.change) object["loss_change"] = *entry.change;
    if (entry.bits_per_character) object["bits_per_character"] = *entry.bits_per_character;
    if (entry.bits_per_byte) object["bits_per_byte"] = *entry.bits_per_byte;
    if (const auto& paired = entry.paired) {
      object["against"] = {{"difference", paired->difference},
                           {"standard_error", paired->standard_error},
                           {"low", paired->interval.low},
                           {"high", paired->interval.high},
                           {"p", paired->p_value},
                           {"rows", paired->rows}};
    }
    if (by_position) {
      object["losses_by_position"] = entry.figures.losses_by_position;  // NaN becomes null
      object["targets_by_position"] = entry.figures.targets_by_position;
      object["loss_sums_by_row"] = entry.figures.loss_sums_by_row;
      object["targets_by_row"] = entry.figures.targets_by_row;
      object["targets_fingerprint"] = hexadecimal(entry.figures.targets_fingerprint);
    }
    lengths.push_back(std::move(object));
  }
  nlohmann::ordered_json result = {{"model", report.model},
                                   {"data", report.data},
                                   {"split", report.split},
                                   {"task", report.causal ? "causal_lm" : "mlm"},
                                   {"position", report.position},
                                   {"precision", report.precision},
                                   {"training_length", report.training_length},
                                   {"evaluations", std::move(lengths)}};
  if (!report.overrides.empty()) result["overrides"] = report.overrides;
  if (report.signal != 0) result["stopped"] = true;
  if (!report.against.empty()) result["against"] = report.against;
  if (const auto& pseudo = report.pseudo_perplexity) {
    result["pseudo_perplexity"] = {{"value", pseudo->value},
                                   {"loss", pseudo->loss},
                                   {"sequences", pseudo->sequences},
                                   {"tokens", pseudo->tokens}};
  }
  return result;
}

std::string losses_to_csv(const EvaluationReport& report) {
  std::string text = "length,shift,drop_middle,shuffle_blocks,position,targets,loss\n";
  for (const EvaluatedLength& entry : report.lengths) {
    const LanguageEvaluation& figures = entry.figures;
    for (std::size_t i = 0; i < figures.losses_by_position.size(); ++i) {
      if (figures.targets_by_position[i] == 0) continue;
      text += fmt::format("{},{},{},{},{},{},{}\n", entry.length, entry.arrangement.shift,
                          entry.arrangement.drop_middle, entry.arrangement.shuffle_blocks, i,
                          figures.targets_by_position[i], figures.losses_by_position[i]);
    }
  }
  return text;
}

LineChart loss_by_length(const EvaluationReport& report) {
  LineChart chart{
      .title = "Loss against length",
      .subtitle = fmt::format("{}, {}; the band is a standard error, by the rows of text",
                              report.position, report.model),
      .x = {.title = "length", .unit = "tokens", .scale = Axis::Scale::logarithmic},
      .y = {.title = "loss", .unit = "nats"},
      .references = {
          {.value = static_cast<double>(report.training_length), .label = "trained length"}}};
  std::map<std::string, Series> series;  // one for each arrangement, of either model
  for (const EvaluatedLength& entry : report.lengths) {
    const std::string name = describe(entry.arrangement);
    Series& line = series[name];
    line.name = name;
    line.x.push_back(static_cast<double>(entry.length));
    line.y.push_back(entry.figures.loss);
    // A single row has no interval.
    const double error =
        std::isfinite(entry.figures.standard_error) ? entry.figures.standard_error : 0;
    line.low.push_back(entry.figures.loss - error);
    line.high.push_back(entry.figures.loss + error);
    if (entry.paired) {
      Series& other = series[name + " " + report.against];
      other.name = fmt::format("{}, {}", name, report.against);
      other.x.push_back(static_cast<double>(entry.length));
      other.y.push_back(entry.figures.loss + entry.paired->difference);
    }
    chart.x.ticks.push_back(static_cast<double>(entry.length));
  }
  for (auto& [name, line] : series) chart.series.push_back(std::move(line));
  return chart;
}

Series losses_over_positions(const LanguageEvaluation& figures, std::string name) {
  Series line{.name = std::move(name)};
  const auto length = static_cast<std::int64_t>(figures.losses_by_position.size());
  const std::int64_t bins = std::min(kBins, length);
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const std::int64_t begin = bin * length / bins, end = (bin + 1) * length / bins;
    double sum = 0;
    std::int64_t count = 0;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::int64_t targets = figures.targets_by_position[i];
      if (targets == 0) continue;
      sum += figures.losses_by_position[i] * static_cast<double>(targets);
      count += targets;
    }
    line.x.push_back(static_cast<double>(begin + end - 1) / 2);
    line.y.push_back(count > 0 ? sum / static_cast<double>(count)
                               : std::numeric_limits<double>::quiet_NaN());  // a gap
  }
  return line;
}

LineChart loss_by_position(const EvaluationReport& report) {
  LineChart chart{.title = "Loss at each position of the text",
                  .subtitle = fmt::format("{}, {}", report.position, report.model),
                  .x = {.title = "position"},
                  .y = {.title = "loss", .unit = "nats"},
                  .references = {{.value = static_cast<double>(report.training_length),
                                  .label = "trained length"}}};
  for (const EvaluatedLength& entry : report.lengths) {
    chart.series.push_back(losses_over_positions(
        entry.figures, fmt::format("{} tokens, {}", entry.length, describe(entry.arrangement))));
  }
  return chart;
}

LanguageEvaluation evaluation_of(const nlohmann::json& report) {
  const nlohmann::json& entry = report.at("evaluations").at(0);
  // Infinite and NaN values are null in the file.
  const auto number = [](const nlohmann::json& value) {
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  };
  LanguageEvaluation result{.loss = number(entry.at("loss")),
                            .standard_error = number(entry.at("loss_standard_error")),
                            .accuracy = number(entry.at("accuracy")),
                            .targets = entry.at("targets").get<std::int64_t>(),
                            .tokens = entry.at("tokens").get<std::int64_t>()};
  for (const nlohmann::json& loss : entry.at("losses_by_position")) {
    result.losses_by_position.push_back(number(loss));
  }
  result.targets_by_position = entry.at("targets_by_position").get<std::vector<std::int64_t>>();
  if (entry.contains("loss_sums_by_row")) {  // older ones have none
    for (const nlohmann::json& sum : entry["loss_sums_by_row"]) {
      result.loss_sums_by_row.push_back(number(sum));
    }
    result.targets_by_row = entry.at("targets_by_row").get<std::vector<std::int64_t>>();
    // Without the fingerprint nobody can tell whether another model's losses have the same targets.
    const auto targets = entry.find("targets_fingerprint");
    if (targets != entry.end() && targets->is_string()) {
      result.targets_fingerprint =
          parse_hexadecimal(targets->get_ref<const std::string&>()).value_or(0);
    }
  }
  return result;
}

}  // namespace roformer
