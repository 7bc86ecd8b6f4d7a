// `roformer score`: BLEU, chrF and TER of translations, as sacreBLEU computes and prints them.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/score_report.h"
#include "cli/score_table.h"
#include "data/corpus_stream.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/code_points.h"
#include "metrics/resampling.h"
#include "metrics/ter.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::int64_t kTokenizedLines = 100;  // so many are no accident

struct ScoreOptions {
  std::string hypotheses;
  std::vector<std::string> references;
  std::vector<std::string> others;
  std::vector<std::string> metrics = {"bleu"};
  BleuSettings bleu;
  bool compound_split = false;
  ChrfSettings chrf;
  TerSettings ter;
  bool sentence_level = false;
  bool confidence = false;
  std::size_t confidence_samples = 1000;
  bool bootstrap = false;
  std::size_t bootstrap_samples = 1000;
  bool randomization = false;
  std::size_t randomization_trials = 10000;
  std::uint64_t seed = kResamplingSeed;
  ScoreReportOptions report;
};

struct TextFile {
  std::string name;  // as it was given
  std::vector<std::string> lines;
};

// The lines of a plain or compressed file, without their trailing spaces.
TextFile read_lines(const std::string& path) {
  CorpusStream stream(path);
  TextFile file{.name = path, .lines = {}};
  std::uint64_t replaced = 0;
  std::string line;
  const auto finish_line = [&] {
    std::string storage;
    file.lines.emplace_back(without_trailing_spaces(repair_utf8(line, storage, replaced)));
    line.clear();
  };
  if (stream.next_file()) {
    for (std::string_view bytes = stream.read(); !bytes.empty(); bytes = stream.read()) {
      for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos;) {
        line += bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
        finish_line();
      }
      line += bytes;
    }
    if (!line.empty()) finish_line();
    if (stream.next_file()) {
      throw_usage(path, "holds several files, wanted one text", "unpack it and name the file");
    }
  }
  if (replaced > 0) {
    log::warn("{}: {} malformed UTF-8 sequences became U+FFFD", path, format_count(replaced));
  }
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
  std::cout << score_table(table, options.report);
}

void check(const ScoreOptions& options) {
  const bool paired = options.bootstrap || options.randomization;
  if (paired && options.others.empty()) {
    throw_usage(options.bootstrap ? "--paired-bs" : "--paired-ar",
                "compares systems, but there is one", "add --other SYSTEM");
  }
  if (options.confidence && !options.others.empty()) {
    throw_usage("--confidence", "is for one system", "--paired-bs has intervals of several");
  }
  if (options.sentence_level && (!options.others.empty() || options.confidence)) {
    throw_usage("--sentence-level", "is for one system, without --confidence");
  }
  if (options.sentence_level && options.metrics.size() > 1) {
    throw_usage("--sentence-level", "takes one metric", "--metrics " + options.metrics.front());
  }
  if (options.bleu.smoothing_value && options.bleu.smoothing != BleuSmoothing::floor &&
      options.bleu.smoothing != BleuSmoothing::add_k) {
    throw_usage("--smooth-value", "is for --smooth-method floor and add-k");
  }
  if (options.chrf.character_order + options.chrf.word_order == 0) {
    throw_usage("--chrf-char-order", "0, and there are no word n-grams either");
  }
}

void score_command(ScoreOptions options) {
  if (options.compound_split) options.bleu.tokenizer = BleuTokenizer::moses_compound;
  options.bleu.effective_order = options.sentence_level;
  check(options);
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

void add_bleu_flags(CLI::App& command, ScoreOptions& options) {
  const std::map<std::string, BleuTokenizer> tokenizers = {
      {"13a", BleuTokenizer::mteval_13a},  {"intl", BleuTokenizer::international},
      {"char", BleuTokenizer::characters}, {"none", BleuTokenizer::none},
      {"zh", BleuTokenizer::chinese},      {"moses-compound", BleuTokenizer::moses_compound}};
  const std::map<std::string, BleuSmoothing> smoothings = {{"exp", BleuSmoothing::exponential},
                                                           {"floor", BleuSmoothing::floor},
                                                           {"add-k", BleuSmoothing::add_k},
                                                           {"none", BleuSmoothing::none}};
  const std::map<std::string, MosesLanguage> languages = {{"en", MosesLanguage::english},
                                                          {"de", MosesLanguage::german}};
  const std::string group = "BLEU";
  command
      .add_option("--tokenize", options.bleu.tokenizer,
                  "13a (default), intl, char, none, zh or moses-compound")
      ->transform(CLI::CheckedTransformer(tokenizers).description(""))
      ->group(group);
  command
      .add_flag("--compound-split", options.compound_split,
                "the older tokenized BLEU with split compounds, of Vaswani's and the paper's "
                "tables: --tokenize moses-compound")
      ->group(group);
  command.add_option("--language", options.bleu.language, "of moses-compound: de (default) or en")
      ->transform(CLI::CheckedTransformer(languages).description(""))
      ->group(group);
  command.add_flag("--lowercase", options.bleu.lowercase, "ignore case")->group(group);
  command
      .add_option("--smooth-method", options.bleu.smoothing,
                  "of orders without a match: exp (default), floor, add-k or none")
      ->transform(CLI::CheckedTransformer(smoothings).description(""))
      ->group(group);
  command
      .add_option("--smooth-value", options.bleu.smoothing_value,
                  "of floor (default 0.1) and add-k (1)")
      ->group(group);
}

void add_chrf_flags(CLI::App& command, ScoreOptions& options) {
  const std::string group = "chrF";
  command.add_option("--chrf-char-order", options.chrf.character_order, "longest character n-gram")
      ->check(CLI::Range(0, 100))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--chrf-word-order", options.chrf.word_order, "longest word n-gram; 2: chrF++")
      ->check(CLI::Range(0, 100))
      ->capture_default_str()
      ->group(group);
  command.add_option("--chrf-beta", options.chrf.beta, "weight of recall")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str()
      ->group(group);
  command.add_flag("--chrf-whitespace", options.chrf.whitespace, "spaces are characters too")
      ->group(group);
  command.add_flag("--chrf-lowercase", options.chrf.lowercase, "ignore case")->group(group);
  command
      .add_flag("--chrf-eps-smoothing", options.chrf.epsilon_smoothing,
                "as chrF++.py, NLTK and Moses")
      ->group(group);
}

void add_ter_flags(CLI::App& command, ScoreOptions& options) {
  const std::string group = "TER";
  command.add_flag("--ter-case-sensitive", options.ter.case_sensitive, "do not ignore case")
      ->group(group);
  command.add_flag("--ter-normalized", options.ter.normalized, "part punctuation from words")
      ->group(group);
  command.add_flag("--ter-no-punct", options.ter.no_punctuation, "remove punctuation")
      ->group(group);
  command
      .add_flag("--ter-asian-support", options.ter.asian_support,
                "these two reach East Asian characters too")
      ->group(group);
}

void add_significance_flags(CLI::App& command, ScoreOptions& options) {
  const std::string group = "Significance";
  command
      .add_flag("--confidence", options.confidence,
                "95 % interval of one system by bootstrap resampling")
      ->group(group);
  command.add_option("--confidence-n", options.confidence_samples, "resamples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  CLI::Option* bootstrap =
      command
          .add_flag("--paired-bs", options.bootstrap, "paired bootstrap test against HYPOTHESES")
          ->group(group);
  command.add_option("--paired-bs-n", options.bootstrap_samples, "resamples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--paired-ar", options.randomization,
                "paired approximate randomization test against HYPOTHESES")
      ->excludes(bootstrap)
      ->group(group);
  command.add_option("--paired-ar-n", options.randomization_trials, "trials")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", options.seed, "of the tests (NumPy's generator)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_score_command(CLI::App& program) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = add_command(
      program,
      {.name = "score",
       .summary = "BLEU, chrF and TER of translations, equal to sacreBLEU's",
       .details =
           "roformer score output.de reference.de --metrics bleu,chrf\n"
           "roformer score output.de reference.de --other baseline.de --paired-bs\n"
           "One detokenized translation a line; plain, .gz or .xz; - is standard input. Every\n"
           "score stands beside the signature of how it was computed.\n",
       .group = kGroupTraining});
  command->add_option("hypotheses", options->hypotheses, "the translations")->required();
  command->add_option("references", options->references, "one or more files of references")
      ->required();
  command->add_option("--other", options->others, "another system's translations; again for more")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--metrics", options->metrics, "bleu, chrf, ter, with commas between")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember({"bleu", "chrf", "ter"}).description(""))
      ->capture_default_str();
  command->add_flag("--sentence-level", options->sentence_level, "a score for each line");
  command->add_option("--format", options->report.format, "text (default) or json")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, ScoreFormat>{{"text", ScoreFormat::text},
                                                                     {"json", ScoreFormat::json}})
              .description(""));
  command->add_flag("--score-only", options->report.score_only, "numbers without signatures");
  command->add_option("--width", options->report.decimals, "digits behind the point")
      ->check(CLI::Range(0, 15))
      ->capture_default_str();
  add_bleu_flags(*command, *options);
  add_chrf_flags(*command, *options);
  add_ter_flags(*command, *options);
  add_significance_flags(*command, *options);
  command->callback([options] { score_command(*options); });
}

}  // namespace roformer
