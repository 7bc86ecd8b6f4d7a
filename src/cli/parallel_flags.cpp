#include "cli/parallel_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/data_inspection.h"
#include "data/recipe.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kGroup = "Sentence pairs";
constexpr const char* kRules = "Rules for pairs of the training set";

bool given(const CLI::App& command, const std::string& flag) {
  const CLI::Option* const option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

// Returns "--longest-words" for "longest_words".
std::string flag_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// Takes the names of two files, or the name of one file of pairs.
HeldOutPairs held_out(const std::vector<fs::path>& files, const char* flag) {
  const std::vector<PairSource> sources = pair_sources_of(files);
  if (sources.size() != 1) {
    throw_usage(flag, fmt::format("names {} sets of pairs, wanted one", sources.size()));
  }
  return {.pairs = sources.front(), .reference = {}};
}

PairTokenizers tokenizers_of(const ParallelFlags& flags, const PrepareFlags& common,
                             const ParallelRecipe& recipe) {
  const bool named = is_tokenizer_named(common.tokenizer);
  if (is_tokenizer_named(flags.target_tokenizer) && !named) {
    throw_usage("--target-tokenizer", "needs the source's tokenizer", "name it with --tokenizer");
  }
  if (!named && recipe.vocabulary) return train_pair_vocabulary(recipe.corpus, *recipe.vocabulary);
  if (!named) {
    throw_usage("tokenizer", "no tokenizer is named",
                "--tokenizer FILE, or --pieces N to train one from the pairs");
  }
  PairTokenizers tokenizers;
  tokenizers.source = open_tokenizer_of(common.tokenizer);
  tokenizers.target = tokenizers.source;
  if (!is_tokenizer_named(flags.target_tokenizer)) return tokenizers;
  TokenizerFlags target = flags.target_tokenizer;
  target.bpe_codes = common.tokenizer.bpe_codes;
  target.bpe_threshold = common.tokenizer.bpe_threshold;
  if (!target.bpe_vocabulary.empty() && target.bpe_codes.empty()) {
    throw_usage("--target-bpe-vocabulary", "needs the merges", "name them with --bpe-codes");
  }
  tokenizers.target = open_tokenizer_of(target);
  if (common.tokenizer.settings.cased && may_keep_case(*tokenizers.target)) {
    target.settings.cased = true;
    tokenizers.target = open_tokenizer_of(target);
  }
  return tokenizers;
}

}  // namespace

std::string PrepareFlags::input_names() const {
  std::string names;
  for (const fs::path& input : corpus.inputs) {
    names += (names.empty() ? "" : ", ") + (input == "-" ? "standard input" : input.string());
  }
  return names;
}

void add_parallel_flags(CLI::App& command, ParallelFlags& flags) {
  command
      .add_option("--languages", flags.languages,
                  "codes of the two languages, source first: en,de; INPUT is then pairs: files "
                  "two and two, .tsv, .jsonl or .tmx")
      ->type_name("A,B")
      ->delimiter(',')
      ->expected(2)
      ->group(kGroup);
  command
      .add_option("--target-tokenizer", flags.target_tokenizer.settings.file,
                  "as --tokenizer, of the target alone (default: one for both)")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_option("--target-bpe-vocabulary", flags.target_tokenizer.bpe_vocabulary,
                  "as --bpe-vocabulary, of the target alone")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_option("--pieces", flags.pieces,
                  "train a vocabulary of this many pieces (BPE) from the training pairs")
      ->type_name("N")
      ->check(CLI::Range(6, 10'000'000))
      ->group(kGroup);
  command
      .add_flag("--separate-vocabularies", flags.separate,
                "train one vocabulary per language instead of a joint one")
      ->group(kGroup);

  PairRules& rules = flags.rules;
  const auto rule = [&](const char* name, auto& value, const char* help, double most) {
    command.add_option(name, value, help)
        ->type_name("N")
        ->check(number_in(between(0, most)))
        ->group(kRules);
  };
  rule("--shortest-words", rules.shortest_words, "each side has at least this many words", 1e9);
  rule("--longest-words", rules.longest_words, "each side has at most this many words; 0: any",
       1e9);
  rule("--longest-pieces", rules.longest_pieces,
       "each side has at most this many pieces of the vocabulary; 0: any", 1e9);
  rule("--length-ratio", rules.length_ratio,
       "pieces of the longer side for one of the shorter at most; 0: any", 1e9);
  rule("--script-share", rules.script_share,
       "smallest share of each side's letters in the script of its language", 1.0);
  command
      .add_flag("--remove-identical", rules.remove_identical,
                "leave out pairs whose sides are the same")
      ->group(kRules);
  command
      .add_flag("--remove-duplicates", rules.remove_duplicates,
                "leave out pairs that occurred before")
      ->group(kRules);
}

bool wants_pairs(const ParallelFlags& flags, const PrepareFlags& common) {
  const std::optional<fs::path> recipe = recipe_among(common.corpus.inputs);
  return recipe ? is_parallel_recipe(*recipe) : !flags.languages.empty();
}

void refuse_parallel_flags(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    const bool parallel = option->get_group() == kGroup || option->get_group() == kRules;
    if (parallel && option->count() > 0) {
      throw_usage(option->get_name(), "is for sentence pairs",
                  "name their languages with --languages, or give a recipe that does");
    }
  }
}

ParallelRecipe parallel_recipe_of(const CLI::App& command, const ParallelFlags& flags,
                                  const PrepareFlags& common) {
  ParallelRecipe recipe;
  ParallelCorpus& corpus = recipe.corpus;
  if (const std::optional<fs::path> path = recipe_among(common.corpus.inputs)) {
    recipe = read_parallel_recipe(*path);
    if (!flags.languages.empty()) {
      throw_usage("--languages", "is for files; the recipe names its languages");
    }
  } else {
    corpus.languages = {.source = flags.languages.at(0), .target = flags.languages.at(1)};
    corpus.train = pair_sources_of(common.corpus.inputs);
    for (const fs::path& input : common.corpus.inputs) {
      recipe.source += (recipe.source.empty() ? "" : ", ") + input.string();
    }
  }
  corpus.seed = common.seed;
  if (!common.validation.empty()) {
    corpus.validation = held_out(common.validation, "--validation");
    corpus.validation_fraction = 0;
  }
  if (!common.test.empty()) {
    corpus.test = held_out(common.test, "--test");
    corpus.test_fraction = 0;
  }
  if (common.validation_fraction >= 0) corpus.validation_fraction = common.validation_fraction;
  if (common.test_fraction >= 0) corpus.test_fraction = common.test_fraction;
  if (flags.pieces > 0 || flags.separate) {
    if (!recipe.vocabulary) recipe.vocabulary.emplace();
    if (flags.pieces > 0) recipe.vocabulary->training.pieces = flags.pieces;
    if (flags.separate) recipe.vocabulary->joint = false;
    if (is_tokenizer_named(common.tokenizer)) {
      throw_usage(flags.pieces > 0 ? "--pieces" : "--separate-vocabularies",
                  "is for a vocabulary to train, and a tokenizer is named");
    }
  }
  corpus.set_reading(common.corpus.follow_links, common.corpus.skip_broken);
  for_each_field(corpus.rules, [&]<class Value>(const std::string& name, Value& value) {
    for_each_field(flags.rules, [&](const std::string& flag, const auto& asked) {
      if (flag == name && given(command, flag_of(name))) value = static_cast<Value>(asked);
    });
  });
  return recipe;
}

void prepare_parallel(const CLI::App& command, const ParallelFlags& flags,
                      const PrepareFlags& common) {
  const ParallelRecipe recipe = parallel_recipe_of(command, flags, common);
  PreparePairsOptions options{.corpus = recipe.corpus};
  common.set_output(options, recipe);
  require_preparable(options);
  const PairTokenizers tokenizers = tokenizers_of(flags, common, recipe);
  const ParallelDescription description =
      prepare_pairs(options, *tokenizers.source, *tokenizers.target);
  std::cout << clean_text(fmt::format("{}: sentence pairs {}, {} to {}, fingerprint {:016x}\n\n",
                                      common.output.string(), description.name,
                                      description.languages.source, description.languages.target,
                                      description.fingerprint))
            << describe_rules(description) << '\n'
            << describe_splits(description);
}

}  // namespace roformer
