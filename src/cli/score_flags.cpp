#include "cli/score_flags.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace roformer {
namespace {

// An option that is one of the words.
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

// A number within its bounds, whose default the help shows.
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
           "of the text, for moses-compound alone: de (default) or en");
  command.add_flag("--lowercase", options.bleu.lowercase, "ignore case");
  add_word(command, "--smooth-method", smoothings, options.bleu.smoothing,
           "of orders without a match: exp (default), floor, add-k or none");
  command.add_option("--smooth-value", options.bleu.smoothing_value,
                     "of floor (default 0.1) and add-k (1)");
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
  constexpr int kMostResamples = 10'000'000;  // eighty megabytes of scores
  command.add_flag("--confidence", options.confidence,
                   "95 % interval of one system by bootstrap resampling");
  add_number(command, "--confidence-n", options.confidence_samples, "resamples",
             CLI::Range(1, kMostResamples));
  CLI::Option* bootstrap = command.add_flag("--paired-bs", options.bootstrap,
                                            "paired bootstrap test against HYPOTHESES");
  add_number(command, "--paired-bs-n", options.bootstrap_samples, "resamples",
             CLI::Range(1, kMostResamples));
  command
      .add_flag("--paired-ar", options.randomization,
                "paired approximate randomization test against HYPOTHESES")
      ->excludes(bootstrap);
  add_number(command, "--paired-ar-n", options.randomization_trials, "trials", positive());
  add_number(command, "--seed", options.seed, "of the tests (NumPy's generator)", positive());
}

// Adds the options of a group, which the help lists together.
void add_group(CLI::App& command, const std::string& group, ScoreOptions& options,
               void (*add)(CLI::App&, ScoreOptions&)) {
  const std::size_t before = command.get_options().size();
  add(command, options);
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = before; i < all.size(); ++i) all[i]->group(group);
}

}  // namespace

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

}  // namespace roformer
