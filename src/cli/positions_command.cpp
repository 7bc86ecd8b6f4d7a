// `roformer positions`: lists and explains the positional schemes, draws their effects, and checks
// them against golden cases.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "analysis/golden_case.h"
#include "analysis/position_plots.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/shipped.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "position/scheme.h"
#include "report/html.h"
#include "report/table_format.h"
#include "runs/trained_model.h"
#include "tasks/language/language_model.h"
#include "tensor/device.h"

namespace roformer {
namespace {

struct PositionsOptions {
  std::string name;
  std::vector<std::string> names;
  std::filesystem::path folder;
  std::filesystem::path output = "positions.html";
  std::filesystem::path csv;
  bool causal = false;
  bool json = false;
  std::string format = "text";
  bool on_gpu = false;
  std::vector<Override> overrides;
};

const PositionFacts& facts_of(const std::string& name) {
  if (const PositionFacts* facts = find_position_facts(name)) return *facts;
  const std::string near = suggestion(name, position_names());
  throw_usage("positions", fmt::format("no scheme is called {}", name),
              near.empty() ? "see roformer positions list" : near);
}

// The parameters that a scheme adds to the given model.
ParameterStore parameters_of(Settings settings, const std::string& scheme, bool causal) {
  settings.position.scheme = scheme;
  ParameterStore parameters(settings.seed);
  make_scheme({.settings = settings.position,
               .shape = {.layers = settings.model.layers,
                         .width = settings.model.width,
                         .heads = settings.model.heads,
                         .head_width = settings.model.features_of_head(),
                         .causal = causal,
                         .training_length = settings.data.length},
               .parameters = parameters});
  return parameters;
}

void list_schemes(const PositionsOptions& options) {
  const Settings settings = default_settings(options.overrides);
  Table table(
      {{.title = "scheme", .alignment = Column::Alignment::left},
       {.title = "family", .alignment = Column::Alignment::left},
       {.title = "parameters", .format = {.style = NumberFormat::Style::count}},
       {.title = "models", .alignment = Column::Alignment::left},
       {.title = "longer texts", .key = "longer", .alignment = Column::Alignment::left},
       {.title = "paper", .alignment = Column::Alignment::left},
       {.title = "held against", .key = "held_against", .alignment = Column::Alignment::left}});
  for (const PositionFacts& facts : position_facts()) {
    const std::string name(facts.name);
    table.add_row({name, std::string(facts.family),
                   parameters_of(settings, name, facts.causal_only || options.causal).count(),
                   facts.causal_only ? "causal" : "all", std::string(facts.longer),
                   std::string(facts.paper),
                   facts.held_against.empty() ? Cell() : Cell(std::string(facts.held_against))});
  }
  if (const std::string format = options.json ? "json" : options.format; format != "text") {
    std::cout << formatted(table, format, {.title = "Positional schemes"});
    return;
  }
  const std::string note = fmt::format(
      "Parameters of a model with {} layers, width {}, {} heads (--model.layers and so on ask for "
      "others). Held against: models that tests compare with transformers; golden cases check "
      "every scheme.",
      settings.model.layers, settings.model.width, settings.model.heads);
  std::cout << to_text(table, for_terminal()) << '\n' << wrapped(note, terminal_width()) << '\n';
}

Table option_table(const std::string& scheme) {
  Table table({{.title = "option", .alignment = Column::Alignment::left},
               {.title = "default", .alignment = Column::Alignment::left},
               {.title = "what it is", .alignment = Column::Alignment::left}});
  for (const Key& key : schema()) {
    if (key.scheme() != scheme) continue;
    const std::string choice = key.type == KeyType::word ? "; " + key.type_text() : "";
    const std::string unit = key.unit.empty() ? "" : " (" + key.unit + ")";
    table.add_row(
        {key.name.substr(key.name.rfind('.') + 1), key.default_text(), key.help + unit + choice});
  }
  return table;
}

void show_scheme(const PositionsOptions& options) {
  const PositionFacts& facts = facts_of(options.name);
  const Settings settings = default_settings(options.overrides);
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  std::cout << fmt::format("{} ({}, {})\n\n", facts.name, facts.family, facts.paper);
  const auto line = [](std::string_view name, std::string_view value) {
    std::cout << fmt::format("  {:<18}{}\n", name, value);
  };
  line("what it does", facts.formula);
  line("cost", facts.cost);
  line("longer texts", facts.longer);
  if (!facts.held_against.empty()) line("held against", facts.held_against);
  line("models", facts.causal_only ? "causal (task: causal_lm)" : "encoders and causal models");
  line("shift invariant", yes(facts.shift_invariant));
  line("linear attention", yes(facts.linear_attention));
  const ParameterStore parameters =
      parameters_of(settings, options.name, facts.causal_only || options.causal);
  line("parameters",
       fmt::format("{} with {} layers, width {}, {} heads", parameters.count(),
                   settings.model.layers, settings.model.width, settings.model.heads));
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.spec.depth <= 1) {
      line("", fmt::format("{} [{}]{}", parameter.spec.name, fmt::join(parameter.spec.shape, ", "),
                           parameter.spec.depth == 1 ? ", and of each further layer" : ""));
    }
  }
  for (const Key& key : schema()) {
    static const Settings defaults;
    if (key.scheme() != options.name || key.get(settings) == key.get(defaults)) continue;
    line("here", key.name + ": " + key.get(settings));
  }
  const Table table = option_table(options.name);
  if (table.rows().empty()) return;
  std::cout << fmt::format("\nOptions, --position.{}.OPTION, in short --position.OPTION:\n\n",
                           options.name)
            << to_text(table, for_terminal());
}

void verify_schemes(const PositionsOptions& options) {
  struct Line {
    std::string scheme;
    std::int64_t cases = 0, passed = 0;
    GoldenErrors float64, float32;
  };
  const DeviceKind wanted = options.on_gpu ? DeviceKind::cuda : DeviceKind::cpu;
  const ComputePlan plan = plan_compute(wanted, Precision::fp32, 0);
  const std::vector<GoldenResult> results = [&] {
    const ElapsedLine elapsed("verifying");
    return run_golden_folder(located(options.folder), plan.device);
  }();
  std::vector<Line> lines;
  std::vector<std::string> misses;
  for (const GoldenResult& result : results) {
    auto line = std::ranges::find(lines, result.scheme, &Line::scheme);
    if (line == lines.end()) line = lines.insert(line, {.scheme = result.scheme});
    ++line->cases;
    line->passed += result.passed();
    line->float64.include(result.float64);
    line->float32.include(result.float32);
    if (result.passed()) continue;
    misses.push_back(fmt::format(
        "{}: {}", result.file,
        !result.problem.empty() ? result.problem
                                : fmt::format("the error is {:.3g} times the tolerance in "
                                              "float64, {:.3g} times in float32",
                                              result.float64.worst(), result.float32.worst())));
  }
  const NumberFormat format{.style = NumberFormat::Style::fixed, .digits = 4};
  std::vector<Column> columns{{.title = "scheme", .alignment = Column::Alignment::left},
                              {.title = "cases", .format = {.style = NumberFormat::Style::count}},
                              {.title = "passed", .format = {.style = NumberFormat::Style::count}}};
  for (const char* precision : {"64", "32"}) {
    for (const char* part : {"logits", "output", "gradients", "others"}) {
      columns.push_back({.title = fmt::format("{} {}", part, precision), .format = format});
    }
  }
  Table table(columns);
  for (const Line& line : lines) {
    std::vector<Cell> row{line.scheme, line.cases, line.passed};
    for (const GoldenErrors& errors : {line.float64, line.float32}) {
      for (const double share : {errors.logits, errors.output, errors.gradients, errors.others}) {
        row.push_back(share < 0 ? Cell() : Cell(share));  // negative: nothing was compared
      }
    }
    table.add_row(std::move(row));
  }
  std::cout << to_text(table, for_terminal())
            << fmt::format(
                   "\n{} of {} cases passed. Figures are the worst error as a share of the "
                   "tolerance (above 1: a miss), in float64 and float32.\n",
                   results.size() - misses.size(), results.size());
  if (misses.empty()) return;
  throw_failure(options.folder.string(), fmt::format("{} of {} cases missed\n  {}", misses.size(),
                                                     results.size(), fmt::join(misses, "\n  ")));
}

void plot_schemes(const PositionsOptions& options) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, TrainedModel>> trained;
  for (const std::string& name : options.names) {
    if (find_position_facts(name) == nullptr && std::filesystem::is_directory(name)) {
      trained.emplace_back(name,
                           open_run_of<LanguageModel>(name, {.overrides = {{"device", "cpu"}}}));
    } else {
      facts_of(name);
      names.push_back(name);
    }
  }
  if (options.names.empty()) names = position_names();
  require_page_name(options.output, "--output");
  require_output(options.output);
  std::vector<PlottedRun> runs;
  for (const auto& [name, model] : trained) {
    runs.push_back({.name = name, .model = *model.model});
  }
  write_position_plots({.settings = default_settings(options.overrides),
                        .names = names,
                        .runs = runs,
                        .causal = options.causal,
                        .output = options.output,
                        .csv = options.csv});
}

}  // namespace

void add_positions_command(CLI::App& program) {
  auto options = std::make_shared<PositionsOptions>();
  CLI::App* positions = add_listed_command(program, "positions");
  positions->require_subcommand(1);
  const auto causal = [&](CLI::App* command) {
    command->add_flag("--causal", options->causal, "as in a causal model instead of an encoder");
  };

  CLI::App* list =
      add_command(*positions, {.name = "list",
                               .summary = "All schemes: family, parameters, longer texts, paper",
                               .details = ""});
  list->add_option("--format", options->format, "text, markdown, csv, json or latex")
      ->check(CLI::IsMember(std::vector<std::string>(kTableFormats.begin(), kTableFormats.end())))
      ->excludes(list->add_flag("--json", options->json, "the same as --format json"));
  accept_settings(*list, options->overrides);
  causal(list);
  list->callback([options] { list_schemes(*options); });

  CLI::App* show = add_command(
      *positions, {.name = "show", .summary = "Explain one scheme and its options", .details = ""});
  show->add_option("name", options->name, "scheme, for instance rope")->required();
  accept_settings(*show, options->overrides);
  causal(show);
  show->callback([options] { show_scheme(*options); });

  CLI::App* plot = add_command(
      *positions,
      {.name = "plot",
       .summary = "Draw what schemes do: decay, wavelengths, biases, scores by distance",
       .details = "Writes one HTML file. Without names all schemes are drawn; options of the "
                  "schemes are taken (--position.rope.scaling llama3). The folder of a run means "
                  "its scheme with the trained weights."});
  plot->add_option("names", options->names,
                   "schemes, or folders of runs, which are drawn as trained; none: all schemes");
  plot->add_option("--output", options->output, "the HTML file")->capture_default_str();
  plot->add_option("--csv", options->csv, "the drawn numbers as CSV: figure, series, x, y");
  accept_settings(*plot, options->overrides);
  causal(plot);
  plot->callback([options] { plot_schemes(*options); });

  CLI::App* verify = add_command(
      *positions,
      {.name = "verify",
       .summary = "Run the golden cases of a folder in float64 and float32",
       .details = "The folder holds index.json and the cases it lists. Exit code 1 where any case "
                  "misses its tolerance or cannot be run."});
  verify->add_option("folder", options->folder, "for instance tests/position/golden")->required();
  verify->add_flag("--gpu", options->on_gpu, "run them on the GPU");
  verify->callback([options] { verify_schemes(*options); });
}

}  // namespace roformer
