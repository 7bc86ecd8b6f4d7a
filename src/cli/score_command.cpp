// `roformer score`: computes BLEU, chrF and TER of translations as sacreBLEU does.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/score_report.h"
#include "data/line_reader.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/code_points.h"
#include "metrics/resampling.h"
#include "metrics/ter.h"

namespace roformer {
namespace {

// The names are those of sacreBLEU's flags where it has them.
struct ScoreOptions {
  std::string hypotheses;
  std::vector<std::string> references;
  std::vector<std::string> others;
  std::vector<std::string> metrics = {"bleu"};
  BleuSettings bleu;
  ChrfSettings chrf;
  TerSettings ter;
  bool sentence_level = false;
  bool confidence = false;
  std::size_t confidence_samples = 1000;
  bool bootstrap = false;
  std::size_t bootstrap_samples = 1000;
  bool randomization = false;
  std::size_t randomization_trials = kRandomizationTrials;
  std::uint64_t seed = kResamplingSeed;
  ScoreReportOptions report;
};

// Adds an option whose value is one of the words.
template <typename Value>
CLI::Option* add_word(CLI::App& command, const std::string& name,
                      const std::map<std::string, Value>& words, Value& value,
                      const std::string& help) {
  std::vector<std::string> known;
  for (const auto& [word, meaning] : words) known.push_back(word);
  return command
      .add_option_function<std::string>(
          name, [&value, words](const std::string& word) { value = words.at(word); }, help)
      ->check(CLI::IsMember(known).description(""));
}

// Adds a number with bounds and shows its default in the help.
template <typename Value>
CLI::Option* add_number(CLI::App& command, const std::string& name, Value& value,
                        const std::string& help, const CLI::Validator& bounds) {
  return command.add_option(name, value, help)->check(bounds)->capture_default_str();
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
  CLI::Option* tokenize = add_word(command, "--tokenize", tokenizers, options.bleu.tokenizer,
                                   "13a (default), intl, char, none, zh or moses-compound");
  command
      .add_flag_callback(
          "--compound-split",
          [&options] { options.bleu.tokenizer = BleuTokenizer::moses_compound; },
          "the older tokenized BLEU with split compounds, of Vaswani's and the paper's "
          "tables: --tokenize moses-compound")
      ->excludes(tokenize);
  add_word(command, "--language", languages, options.bleu.language,
           "language of the text, only for moses-compound: de (default) or en");
  command.add_flag("--lowercase", options.bleu.lowercase, "ignore case");
  add_word(command, "--smooth-method", smoothings, options.bleu.smoothing,
           "smoothing of orders without a match: exp (default), floor, add-k or none");
  command.add_option("--smooth-value", options.bleu.smoothing_value,
                     "value of floor (default 0.1) and add-k (1)");
}

void add_chrf_flags(CLI::App& command, ScoreOptions& options) {
  add_number(command, "--chrf-char-order", options.chrf.character_order, "longest character n-gram",
             CLI::Range(0, 100));
  add_number(command, "--chrf-word-order", options.chrf.word_order,
             "longest word n-gram; 2: chrF++", CLI::Range(0, 100));
  add_number(command, "--chrf-beta", options.chrf.beta, "weight of recall", CLI::Range(0, 1000));
  command.add_flag("--chrf-whitespace", options.chrf.whitespace, "spaces are characters too");
  command.add_flag("--chrf-lowercase", options.chrf.lowercase, "ignore case");
  command.add_flag("--chrf-eps-smoothing", options.chrf.epsilon_smoothing,
                   "as chrF++.py, NLTK and Moses");
}

void add_ter_flags(CLI::App& command, ScoreOptions& options) {
  command.add_flag("--ter-case-sensitive", options.ter.case_sensitive, "do not ignore case");
  command.add_flag("--ter-normalized", options.ter.normalized, "part punctuation from words");
  command.add_flag("--ter-no-punct", options.ter.no_punctuation, "remove punctuation");
  command.add_flag("--ter-asian-support", options.ter.asian_support,
                   "these two reach East Asian characters too");
}

void add_significance_flags(CLI::App& command, ScoreOptions& options) {
  constexpr int kMostResamples = 10'000'000;  // needs eighty megabytes of scores
  command.add_flag("--confidence", options.confidence,
                   "95 % interval of one system by bootstrap resampling");
  add_number(command, "--confidence-n", options.confidence_samples, "resamples",
             CLI::Range(1, kMostResamples));
  CLI::Option* bootstrap = command.add_flag("--paired-bs", options.bootstrap,
                                            "paired bootstrap test against HYPOTHESES, with a "
                                            "two-sided p of --paired-ar-n random swaps beside it");
  add_number(command, "--paired-bs-n", options.bootstrap_samples, "resamples",
             CLI::Range(1, kMostResamples));
  command
      .add_flag("--paired-ar", options.randomization,
                "paired approximate randomization test against HYPOTHESES")
      ->excludes(bootstrap);
  add_number(command, "--paired-ar-n", options.randomization_trials, "trials", positive());
  add_number(command, "--seed", options.seed, "seed of the tests (NumPy's generator)", positive());
}

// Adds a group of options, which the help lists together.
void add_group(CLI::App& command, const std::string& group, ScoreOptions& options,
               void (*add)(CLI::App&, ScoreOptions&)) {
  const std::size_t before = command.get_options().size();
  add(command, options);
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group(group);
}

// `options` must live until the callback has run.
void add_score_flags(CLI::App& command, ScoreOptions& options) {
  command.add_option("hypotheses", options.hypotheses, "the translations")->required();
  command.add_option("references", options.references, "one or more files of references")
      ->required();
  command.add_option("--other", options.others, "another system's translations; again for more")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--metrics", options.metrics, "bleu, chrf, ter, with commas between")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember({"bleu", "chrf", "ter"}).description(""))
      ->capture_default_str();
  command.add_flag("--sentence-level", options.sentence_level, "a score for each line");
  add_word(command, "--format", {{"text", ScoreFormat::text}, {"json", ScoreFormat::json}},
           options.report.format, "text (default) or json");
  command.add_flag("--score-only", options.report.score_only, "numbers without signatures");
  add_number(command, "--width", options.report.decimals, "digits after the point",
             CLI::Range(0, 15));
  add_group(command, "BLEU", options, add_bleu_flags);
  add_group(command, "chrF", options, add_chrf_flags);
  add_group(command, "TER", options, add_ter_flags);
  add_group(command, "Significance", options, add_significance_flags);
}

// Throws Error (usage) for flags that do not fit together.
void check_score_options(const ScoreOptions& options) {
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
  if (options.sentence_level && options.report.format == ScoreFormat::json) {
    throw_usage("--sentence-level", "is printed as text", "leave out --format json");
  }
  if (options.report.score_only &&
      (options.report.format == ScoreFormat::json || !options.others.empty())) {
    throw_usage("--score-only", "is for the text of one system");
  }
  const bool older = options.bleu.tokenizer == BleuTokenizer::moses_compound;
  if (older && options.bleu.smoothing != BleuSmoothing::exponential &&
      options.bleu.smoothing != BleuSmoothing::none) {
    throw_usage("--smooth-method", "the BLEU with split compounds is not smoothed");
  }
  if (options.bleu.smoothing_value && options.bleu.smoothing != BleuSmoothing::floor &&
      options.bleu.smoothing != BleuSmoothing::add_k) {
    throw_usage("--smooth-value", "is for --smooth-method floor and add-k");
  }
  if (const auto& value = options.bleu.smoothing_value; value && !(*value >= 0 && *value < 1e6)) {
    throw_usage("--smooth-value", fmt::format("is {}, wanted a number from 0", *value));
  }
  if (options.chrf.character_order + options.chrf.word_order == 0) {
    throw_usage("--chrf-char-order", "0, and there are no word n-grams either");
  }
}

constexpr std::int64_t kTokenizedLines = 100;  // this many are no accident

struct TextFile {
  std::string name;  // as the user gave it
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
  std::vector<TextFile> systems;     // the first is HYPOTHESES
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
    table.trials = options.randomization_trials;
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
    table.seed = options.seed;
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
      for (std::size_t i = 1; i < systems.size(); ++i) {
        column.results[i].two_sided_p =
            two_sided_p_value(*metric, systems.front(), systems[i], table.trials, options.seed);
      }
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
      "One detokenized translation per line; plain or compressed; - is standard input. Every\n"
      "score has the signature of how it was computed.\n");
  add_score_flags(*command, *options);
  command->callback([options] { score_command(*options); });
}

}  // namespace roformer
