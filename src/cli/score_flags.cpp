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
  CLI::Option* tokenize = add_word(command, "--tokenize", tokenizers, options.bleu.tokenizer,
                                   "13a (default), intl, char, none, zh or moses-compound")
                              ->group(group);
  command
      .add_flag_callback(
          "--compound-split",
          [&options] { options.bleu.tokenizer = BleuTokenizer::moses_compound; },
          "the older tokenized BLEU with split compounds, of Vaswani's and the paper's "
          "tables: --tokenize moses-compound")
      ->excludes(tokenize)
      ->group(group);
  add_word(command, "--language", languages, options.bleu.language,
           "of the text, for moses-compound alone: de (default) or en")
      ->group(group);
  command.add_flag("--lowercase", options.bleu.lowercase, "ignore case")->group(group);
  add_word(command, "--smooth-method", smoothings, options.bleu.smoothing,
           "of orders without a match: exp (default), floor, add-k or none")
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
  constexpr int kMostResamples = 10'000'000;  // eighty megabytes of scores
  const std::string group = "Significance";
  command
      .add_flag("--confidence", options.confidence,
                "95 % interval of one system by bootstrap resampling")
      ->group(group);
  command.add_option("--confidence-n", options.confidence_samples, "resamples")
      ->check(CLI::Range(1, kMostResamples))
      ->capture_default_str()
      ->group(group);
  CLI::Option* bootstrap =
      command
          .add_flag("--paired-bs", options.bootstrap, "paired bootstrap test against HYPOTHESES")
          ->group(group);
  command.add_option("--paired-bs-n", options.bootstrap_samples, "resamples")
      ->check(CLI::Range(1, kMostResamples))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--paired-ar", options.randomization,
                "paired approximate randomization test against HYPOTHESES")
      ->excludes(bootstrap)
      ->group(group);
  command.add_option("--paired-ar-n", options.randomization_trials, "trials")
      ->check(positive())
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", options.seed, "of the tests (NumPy's generator)")
      ->check(positive())
      ->capture_default_str()
      ->group(group);
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
  command.add_option("--width", options.report.decimals, "digits behind the point")
      ->check(CLI::Range(0, 15))
      ->capture_default_str();
  add_bleu_flags(command, options);
  add_chrf_flags(command, options);
  add_ter_flags(command, options);
  add_significance_flags(command, options);
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
