// `roformer score`: BLEU, chrF and TER of translations, as sacreBLEU computes them.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/score_flags.h"
#include "cli/score_report.h"
#include "data/line_reader.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/code_points.h"
#include "metrics/resampling.h"
#include "metrics/ter.h"

namespace roformer {
namespace {

constexpr std::int64_t kTokenizedLines = 100;  // as many are no accident

struct TextFile {
  std::string name;  // as it was given
  std::vector<std::string> lines;
};

// The lines of a file, without their trailing spaces.
TextFile read_lines(const std::string& path) {
  LineReader reader(path, LineReader::kAnyLength);
  TextFile file{.name = path, .lines = {}};
  for (std::string_view line; reader.next_text(line);) {
    if (reader.files() > 1) {
      throw_usage(path, "holds several files, wanted one text", "unpack it and name the file");
    }
    file.lines.emplace_back(without_trailing_spaces(line));
  }
  reader.warn_of_replaced();
  if (file.lines.empty()) throw_failure(path, "holds no line", "one translation a line");
  return file;
}

void check_lengths(const TextFile& hypotheses, const TextFile& other) {
  if (hypotheses.lines.size() == other.lines.size()) return;
  throw_failure(other.name,
                fmt::format("{} lines, but {} has {}", format_count(std::ssize(other.lines)),
                            hypotheses.name, format_count(std::ssize(hypotheses.lines))),
                "line N of every file belongs to the same sentence");
}

struct Corpus {
  std::vector<TextFile> systems;     // the first: HYPOTHESES
  std::vector<TextFile> references;  // at least one

  std::vector<std::string_view> references_of(std::size_t line) const {
    std::vector<std::string_view> texts;
    for (const TextFile& file : references) texts.push_back(file.lines[line]);
    return texts;
  }
};

Corpus read_corpus(const ScoreOptions& options) {
  std::vector<std::string> systems = {options.hypotheses};
  systems.insert(systems.end(), options.others.begin(), options.others.end());
  std::vector<std::string> paths = systems;
  paths.insert(paths.end(), options.references.begin(), options.references.end());
  if (std::ranges::count(paths, "-") > 1) {
    throw_usage("-", "standard input can be read once, but was given twice");
  }
  for (const std::string& system : options.others) {
    if (std::ranges::count(systems, system) > 1) {
      throw_usage("--other", system + " was given twice", "systems need different names");
    }
  }
  Corpus corpus;
  for (const std::string& path : systems) corpus.systems.push_back(read_lines(path));
  for (const std::string& path : options.references) corpus.references.push_back(read_lines(path));
  for (const TextFile& file : corpus.systems) check_lengths(corpus.systems.front(), file);
  for (const TextFile& file : corpus.references) check_lengths(corpus.systems.front(), file);
  return corpus;
}

void warn_of_tokenized_text(const ScoreOptions& options, const Corpus& corpus) {
  if (options.bleu.tokenizer == BleuTokenizer::none ||
      std::ranges::find(options.metrics, "bleu") == options.metrics.end()) {
    return;
  }
  for (const TextFile& system : corpus.systems) {
    const auto tokenized = std::ranges::count_if(
        system.lines, [](const std::string& line) { return line.ends_with(" ."); });
    if (tokenized < kTokenizedLines) continue;
    log::warn("{}: {} lines end in a period with a space before it: score detokenized text",
              system.name, format_count(tokenized));
  }
}

std::unique_ptr<TranslationMetric> make_metric(const std::string& name,
                                               const ScoreOptions& options) {
  if (name == "bleu") return std::make_unique<Bleu>(options.bleu);
  if (name == "chrf") return std::make_unique<Chrf>(options.chrf);
  ROFORMER_ASSERT(name == "ter");
  return std::make_unique<Ter>(options.ter);
}

StatisticsTable statistics(TranslationMetric& metric, const Corpus& corpus,
                           const TextFile& system) {
  StatisticsTable rows(metric.width());
  for (std::size_t i = 0; i < system.lines.size(); ++i) {
    rows.append(metric.row(system.lines[i], corpus.references_of(i)));
  }
  return rows;
}

void score_sentences(const ScoreOptions& options, const Corpus& corpus) {
  const auto metric = make_metric(options.metrics.front(), options);
  const std::string signature = metric->signature({.references = corpus.references.size()});
  const TextFile& system = corpus.systems.front();
  for (std::size_t i = 0; i < system.lines.size(); ++i) {
    const std::vector<double> row = metric->row(system.lines[i], corpus.references_of(i));
    const SystemScore score{.score = metric->describe(row), .signature = signature};
    std::cout << score_line(score, options.report) << '\n';
  }
}

void score_system(const ScoreOptions& options, const Corpus& corpus) {
  std::optional<ElapsedLine> elapsed("scoring");
  SignatureFacts facts{.references = corpus.references.size()};
  Resamples resamples;
  if (options.confidence) {
    const std::size_t sentences = corpus.systems.front().lines.size();
    resamples = draw_resamples(sentences, options.confidence_samples, options.seed);
    facts.bootstrap = options.confidence_samples;
    facts.seed = options.seed;
  }
  std::vector<SystemScore> scores;
  for (const std::string& name : options.metrics) {
    const auto metric = make_metric(name, options);
    const StatisticsTable rows = statistics(*metric, corpus, corpus.systems.front());
    SystemScore score{.score = metric->describe(rows.sums()),
                      .signature = metric->signature(facts)};
    if (options.confidence) score.interval = bootstrap_interval(*metric, rows, resamples);
    scores.push_back(std::move(score));
  }
  elapsed.reset();
  std::cout << score_report(scores, options.report);
}

std::vector<PairedResult> plain_results(const TranslationMetric& metric,
                                        const std::vector<StatisticsTable>& systems) {
  std::vector<PairedResult> results;
  for (const StatisticsTable& rows : systems) {
    results.push_back({.score = metric.score(rows.sums(), SumKind::plain).value});
  }
  return results;
}

void compare_systems(const ScoreOptions& options, const Corpus& corpus) {
  std::optional<ElapsedLine> elapsed("comparing");
  SignatureFacts facts{.references = corpus.references.size()};
  ScoreTable table;
  Resamples resamples;
  for (const TextFile& system : corpus.systems) table.systems.push_back(system.name);
  if (options.bootstrap) {
    table.test = PairedTest::bootstrap;
    table.samples = options.bootstrap_samples;
    facts.bootstrap = table.samples;
    const std::size_t sentences = corpus.systems.front().lines.size();
    resamples = draw_resamples(sentences, table.samples, options.seed);
  } else if (options.randomization) {
    table.test = PairedTest::randomization;
    table.samples = options.randomization_trials;
    facts.randomization = table.samples;
  }
  if (table.test != PairedTest::none) {
    table.systems.front() = "Baseline: " + table.systems.front();
    facts.seed = options.seed;
  }
  for (const std::string& name : options.metrics) {
    const auto metric = make_metric(name, options);
    std::vector<StatisticsTable> systems;
    for (const TextFile& system : corpus.systems) {
      systems.push_back(statistics(*metric, corpus, system));
    }
    MetricColumn column{.name = metric->name(), .signature = metric->signature(facts)};
    if (options.bootstrap) {
      column.results = paired_bootstrap(*metric, systems, resamples);
    } else if (options.randomization) {
      column.results = paired_randomization(*metric, systems, table.samples, options.seed);
    } else {
      column.results = plain_results(*metric, systems);
    }
    table.columns.push_back(std::move(column));
  }
  elapsed.reset();
  std::cout << score_table(table, options.report);
}

void score_command(ScoreOptions options) {
  check_score_options(options);
  options.bleu.effective_order = options.sentence_level;
  const Corpus corpus = read_corpus(options);
  warn_of_tokenized_text(options, corpus);
  if (options.sentence_level) {
    score_sentences(options, corpus);
  } else if (options.others.empty()) {
    std::ranges::sort(options.metrics);
    score_system(options, corpus);
  } else {
    compare_systems(options, corpus);
  }
}

}  // namespace

void add_score_command(CLI::App& program) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = add_listed_command(
      program, "score",
      "roformer score output.de reference.de --metrics bleu,chrf\n"
      "roformer score output.de reference.de --other baseline.de --paired-bs\n"
      "One detokenized translation a line; plain or compressed; - is standard input. Every\n"
      "score stands beside the signature of how it was computed.\n");
  add_score_flags(*command, *options);
  command->callback([options] { score_command(*options); });
}

}  // namespace roformer
