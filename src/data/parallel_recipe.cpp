#include "data/parallel_recipe.h"

#include <fmt/format.h>

#include "base/error.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

SentencePieceAlgorithm parse_algorithm(const std::string& word) {
  if (word == "bpe") return SentencePieceAlgorithm::bpe;
  if (word == "unigram") return SentencePieceAlgorithm::unigram;
  throw_usage("kind", fmt::format("'{}' is not known (known: bpe, unigram)", word));
}

// An item of `train`, or `validation` or `test`, which may have a `reference` and no weight.
PairSource read_source(const YamlFields& fields, fs::path* reference) {
  PairSource source{.source = fields.file("source"), .target = fields.file("target")};
  const fs::path pairs = fields.file("pairs");
  const bool has_format = fields.has("format");
  source.format = fields.parsed("format", source.format, parse_pair_format);
  if (reference != nullptr) {
    *reference = fields.file("reference");
  } else {
    fields.take("weight", source.weight, at_least(0));
  }
  const bool two = !source.source.empty() && !source.target.empty();
  const bool none = source.source.empty() && source.target.empty();
  if (pairs.empty() ? !two : !none) {
    fields.complain("", "names no pairs: wanted `source` and `target`, or `pairs` alone");
    return source;
  }
  if (!two) source.source = pairs;
  if (!has_format) source.format = guess_pair_format(source.source);
  if (takes_two_files(source.format) != two) {
    fields.complain("", fmt::format("format {} takes {}", to_word(source.format),
                                    two ? "one file: `pairs`" : "two: `source` and `target`"));
  }
  return source;
}

void read_rules(const YamlFields& fields, PairRules& rules) {
  const Range counts = between(0, 1e9);
  fields.take("shortest_words", rules.shortest_words, counts);
  fields.take("longest_words", rules.longest_words, counts);
  fields.take("longest_pieces", rules.longest_pieces, counts);
  fields.take("length_ratio", rules.length_ratio, at_least(0));
  fields.take("remove_identical", rules.remove_identical);
  fields.take("remove_duplicates", rules.remove_duplicates);
  fields.take("script_share", rules.script_share, below_one());
}

PairVocabulary read_vocabulary(const YamlFields& fields) {
  PairVocabulary vocabulary;
  SentencePieceTraining& training = vocabulary.training;
  fields.require("pieces");
  training.algorithm = fields.parsed("kind", training.algorithm, parse_algorithm);
  fields.take("pieces", training.pieces, between(0, 1e9));
  fields.take("joint", vocabulary.joint);
  fields.take("byte_fallback", training.byte_fallback);
  fields.take("coverage", training.character_coverage, at_least(0));
  return vocabulary;
}

void read_pairs(const YamlFields& fields, ParallelCorpus& corpus) {
  for (const char* const key : {"languages", "train"}) fields.require(key);
  if (fields.has("languages")) {
    const std::vector<std::string> names = fields.texts("languages");
    if (names.size() == 2) {
      corpus.languages = {.source = names[0], .target = names[1]};
    } else {
      fields.complain("languages", "wanted two languages, as [en, de]");
    }
  }
  if (const YamlNode train = fields.node("train"); train.is_list() && train.items().empty()) {
    fields.complain("train", "is an empty list");
  }
  fields.each("train", [&](const YamlFields& source) {
    corpus.train.push_back(read_source(source, nullptr));
  });
  for (const auto& [key, set] :
       {std::pair("validation", &corpus.validation), {"test", &corpus.test}}) {
    fields.in(key, [&](const YamlFields& source) {
      set->emplace();
      (*set)->pairs = read_source(source, &(*set)->reference);
    });
  }
  fields.take("validation_fraction", corpus.validation_fraction, below_one());
  fields.take("test_fraction", corpus.test_fraction, below_one());
  fields.in("rules", [&](const YamlFields& rules) { read_rules(rules, corpus.rules); });
}

// Sums over all sets of the recipe, references included.
std::vector<fs::path> raw_files_of(const ParallelCorpus& corpus) {
  std::vector<fs::path> files;
  const auto collect = [&](const PairSource& source) {
    for (const fs::path& file : source.files()) files.push_back(file);
  };
  for (const PairSource& source : corpus.train) collect(source);
  for (const auto* const set : {&corpus.validation, &corpus.test}) {
    if (!*set) continue;
    collect((*set)->pairs);
    if (!(*set)->reference.empty()) files.push_back((*set)->reference);
  }
  return files;
}

}  // namespace

bool is_parallel_recipe(const fs::path& path) {
  const YAML::Node root = parse_recipe(path);
  return YamlNode(root, root.Mark()).child("languages").is_there();
}

ParallelRecipe read_parallel_recipe(const fs::path& path) {
  ParallelRecipe recipe;
  read_recipe_fields(path, [&](const YamlFields& fields) {
    read_origin(fields, recipe);
    read_pairs(fields, recipe.corpus);
    fields.in("vocabulary", [&](const YamlFields& vocabulary) {
      recipe.vocabulary = read_vocabulary(vocabulary);
    });
  });
  std::vector<fs::path> raw = raw_files_of(recipe.corpus);
  if (!recipe.package_list.empty()) raw.push_back(recipe.package_list);
  require_raw_files(path, recipe.fetch, raw);
  add_package_licences(recipe);
  return recipe;
}

std::vector<PairSource> pair_sources_of(const std::vector<fs::path>& files) {
  std::vector<PairSource> sources;
  for (std::size_t i = 0; i < files.size(); ++i) {
    PairSource source{.format = guess_pair_format(files[i]), .source = files[i], .target = {}};
    if (takes_two_files(source.format)) {
      if (i + 1 == files.size() || guess_pair_format(files[i + 1]) != source.format) {
        throw_usage(files[i].string(), "has no partner, wanted the file of the other language next",
                    "name files two and two, as train.en train.de, or files of pairs: .tsv, "
                    ".jsonl, .tmx");
      }
      source.target = files[++i];
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace roformer
