#include "bench/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parts.h"
#include "base/process.h"
#include "config/yaml_fields.h"
#include "data/recipe.h"
#include "experiments/child_process.h"
#include "experiments/record.h"
#include "metrics/statistics.h"
#include "training/signals.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr double kMiB = 1 << 20;
constexpr const char* kOurRounds = "rounds_of_ours";
constexpr const char* kPeersRounds = "rounds_of_the_peer";
constexpr NumberFormat kWhole{.style = NumberFormat::Style::count};

// The figure of the last line that is a JSON object; warnings may surround it.
std::optional<double> figure_in(const std::string& output, const std::string& key) {
  std::optional<double> found;
  for (const std::string_view text : split_at(output, '\n')) {
    const json line = json::parse(text, nullptr, false);
    if (line.is_object() && line.contains(key) && line[key].is_number()) {
      found = line[key].get<double>();
    }
  }
  return found;
}

ChildExit wait_for_exit(ChildProcess& process) {
  while (true) {
    if (const std::optional<ChildExit> end = process.poll()) return *end;
    if (StopSignals::received() != 0) throw_failure("bench compare", "stopped by a signal");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Timing time_command(const std::string& command, const std::string& figure,
                    const fs::path& scratch) {
  const fs::path output = scratch / "output.txt";
  ChildProcess process({.program = "/bin/sh", .arguments = {"-c", command}, .output = output});
  const ChildExit end = wait_for_exit(process);
  const std::string text = read_file(output);
  if (!end.good()) {
    const std::string line = last_line(text);
    throw_failure(command, "failed: " + (line.empty() ? "it wrote nothing" : line));
  }
  const std::optional<double> value = figure_in(text, figure);
  if (!value || !(*value > 0)) {
    throw_failure(command, fmt::format("printed no JSON object with a \"{}\"", figure));
  }
  return {.figure = *value, .memory = static_cast<double>(end.peak_memory_bytes) / kMiB};
}

double median_timing(const std::vector<Timing>& timings, double Timing::*member) {
  std::vector<double> values;
  for (const Timing& timing : timings) values.push_back(timing.*member);
  return median(values);
}

std::string ratio_text(const std::string& figure, const ComparedTimings& timings) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < timings.ours.size(); ++i) {
    ratios.push_back(advantage(figure, timings.ours[i].figure, timings.peers[i].figure));
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", median(ratios), *least, *most);
}

ordered_json stored_timings(const std::vector<Timing>& timings, const std::string& figure) {
  ordered_json list = ordered_json::array();
  for (const Timing& timing : timings) {
    list.push_back({{figure, timing.figure}, {"memory_mib", timing.memory}});
  }
  return list;
}

std::vector<Timing> read_timings(const json& list, const std::string& figure) {
  std::vector<Timing> timings;
  for (const json& one : list) {
    timings.push_back(
        {.figure = one.at(figure).get<double>(), .memory = one.at("memory_mib").get<double>()});
  }
  return timings;
}

bool has_figure(const json& rounds, const std::string& figure) {
  return !rounds.empty() && rounds.front().contains(figure);
}

std::string ours_in_record(const ComparedPair& pair) {
  return "roformer " + pair.ours;
}

}  // namespace

SpeedComparison read_comparison(const fs::path& file) {
  SpeedComparison comparison{.file = file};
  read_recipe_fields(
      file,
      [&](const YamlFields& fields) {
        fields.require("pairs");
        fields.take("rounds", comparison.rounds, between(0, 1e9));
        fields.each("pairs", [&](const YamlFields& pair) {
          comparison.pairs.push_back({.work = pair.text("work"),
                                      .ours = pair.text("ours"),
                                      .peer = pair.text("peer"),
                                      .command = pair.text("command"),
                                      .figure = pair.text("figure"),
                                      .note = pair.text("note", "")});
        });
      },
      "a comparison");
  return comparison;
}

bool is_rate(const std::string& figure) {
  return figure.ends_with("_per_s");
}

double advantage(const std::string& figure, double ours, double peer) {
  return is_rate(figure) ? ours / peer : peer / ours;
}

ComparedTimings compare(const ComparedPair& pair, std::int64_t rounds,
                        const ComparisonOptions& options) {
  ComparedTimings timings;
  for (std::int64_t round = 0; round < rounds; ++round) {
    timings.ours.push_back(
        time_command(options.program + " " + pair.ours, pair.figure, options.scratch));
    timings.peers.push_back(time_command(untuned(pair.command), pair.figure, options.scratch));
  }
  return timings;
}

Table comparison_table(const std::vector<MeasuredPair>& measured) {
  const bool of_one_commit = std::ranges::all_of(measured, [&measured](const MeasuredPair& one) {
    return one.commit == measured.front().commit;
  });
  std::vector<Column> columns{{.title = "work", .alignment = Column::Alignment::left},
                              {.title = "peer", .alignment = Column::Alignment::left},
                              {.title = "figure", .alignment = Column::Alignment::left},
                              {.title = "ours", .format = {.digits = 4}},
                              {.title = "the peer's", .format = {.digits = 4}},
                              {.title = "times as fast"},
                              {.title = "memory", .unit = "MiB", .format = kWhole},
                              {.title = "the peer's memory", .unit = "MiB", .format = kWhole},
                              {.title = "not equal", .alignment = Column::Alignment::left}};
  if (!of_one_commit) {
    columns.push_back({.title = "commit", .alignment = Column::Alignment::left});
  }
  Table table(columns);
  for (const auto& [pair, timings, commit] : measured) {
    std::vector<Cell> row{pair.work,
                          pair.peer,
                          pair.figure,
                          median_timing(timings.ours, &Timing::figure),
                          median_timing(timings.peers, &Timing::figure),
                          ratio_text(pair.figure, timings),
                          median_timing(timings.ours, &Timing::memory),
                          median_timing(timings.peers, &Timing::memory),
                          pair.note};
    if (!of_one_commit) row.emplace_back(commit);
    table.add_row(std::move(row));
  }
  return table;
}

void write_comparison_record(const fs::path& record, const fs::path& file,
                             const std::vector<MeasuredPair>& measured, const Origin& origin,
                             const ordered_json& machine) {
  ordered_json made = {{"machine", machine}, {"pairs", ordered_json::array()}};
  for (const auto& [pair, timings, commit] : measured) {
    made["pairs"].push_back({{"work", pair.work},
                             {"ours", ours_in_record(pair)},
                             {"peer", pair.command},
                             {"commit", commit},
                             {kOurRounds, stored_timings(timings.ours, pair.figure)},
                             {kPeersRounds, stored_timings(timings.peers, pair.figure)}});
  }
  write_table_record(record, file, {{"results", comparison_table(measured)}}, made, origin);
}

std::vector<MeasuredPair> measured_before(const fs::path& record, const SpeedComparison& comparison,
                                          const ordered_json& machine) {
  if (!fs::exists(record)) return {};
  const json document = read_record(record);
  const std::string last_commit = document.value("/program/commit"_json_pointer, "");
  if (!same_processor(document.value("/machine/processor"_json_pointer, ""),
                      machine.value("processor", ""))) {
    return {};
  }
  for (const char* fact : {"cores", "instruction_sets"}) {  // memory is not for speed
    const json::json_pointer pointer(std::string("/machine/") + fact);
    if (document.value(pointer, json()) != json(machine.value(fact, json()))) return {};
  }
  std::vector<MeasuredPair> measured;
  for (const ComparedPair& pair : comparison.pairs) {
    for (const json& entry : document.value("pairs", json::array())) {
      if (entry.value("ours", "") != ours_in_record(pair)) continue;
      if (entry.value("peer", "") != pair.command) continue;
      if (!has_figure(entry.at(kOurRounds), pair.figure)) continue;  // another was asked for
      measured.push_back({.pair = pair,
                          .timings = {.ours = read_timings(entry.at(kOurRounds), pair.figure),
                                      .peers = read_timings(entry.at(kPeersRounds), pair.figure)},
                          .commit = entry.value("commit", last_commit)});
    }
  }
  return measured;
}

}  // namespace roformer
