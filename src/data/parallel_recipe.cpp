#include "data/parallel_recipe.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "data/recipe_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

SentencePieceAlgorithm parse_algorithm(const std::string& word) {
  if (word == "bpe") return SentencePieceAlgorithm::bpe;
  if (word == "unigram") return SentencePieceAlgorithm::unigram;
  throw_usage("kind", fmt::format("'{}' is not known (known: bpe, unigram)", word));
}

// One item of `train`, or `validation` or `test`, which may have a `reference` and no weight.
PairSource read_source(RecipeReader& reader, const YamlEntry& entry, fs::path* reference) {
  PairSource source;
  fs::path pairs;
  bool has_format = false;
  RecipeReader::Keys keys = {
      {"source", [&](const YamlEntry& e) { reader.file(e, source.source); }},
      {"target", [&](const YamlEntry& e) { reader.file(e, source.target); }},
      {"pairs", [&](const YamlEntry& e) { reader.file(e, pairs); }},
      {"format",
       [&](const YamlEntry& e) {
         has_format = true;
         reader.word(e, parse_pair_format, source.format);
       }},
  };
  if (reference != nullptr) {
    keys["reference"] = [&](const YamlEntry& e) { reader.file(e, *reference); };
  } else {
    keys["weight"] = [&](const YamlEntry& e) { reader.number(e, source.weight); };
  }
  reader.read_map(entry, "a source of pairs", keys);
  const bool one = !pairs.empty();
  const bool two = !source.source.empty() && !source.target.empty();
  if (one == two || (one && (!source.source.empty() || !source.target.empty()))) {
    if (entry.value.IsMap()) {
      reader.add(entry, "names no pairs: wanted `source` and `target`, or `pairs` alone");
    }
    return source;
  }
  if (one) source.source = pairs;
  if (!has_format) source.format = guess_pair_format(source.source);
  if (takes_two_files(source.format) != two) {
    reader.add(entry, fmt::format("format {} takes {}", to_string(source.format),
                                  two ? "one file: `pairs`" : "two: `source` and `target`"));
  }
  return source;
}

void read_rules(RecipeReader& reader, const YamlEntry& entry, PairRules& rules) {
  const auto count = [&](std::int64_t& value) {
    return [&reader, &value](const YamlEntry& e) { reader.count(e, value); };
  };
  const auto flag = [&](bool& value) {
    return [&reader, &value](const YamlEntry& e) { reader.flag(e, value); };
  };
  const auto number = [&](double& value) {
    return [&reader, &value](const YamlEntry& e) { reader.number(e, value); };
  };
  reader.read_map(
      entry, "the rules",
      {{"shortest_words", count(rules.shortest_words)},
       {"longest_words", count(rules.longest_words)},
       {"longest_pieces", count(rules.longest_pieces)},
       {"length_ratio", number(rules.length_ratio)},
       {"remove_identical", flag(rules.remove_identical)},
       {"remove_duplicates", flag(rules.remove_duplicates)},
       {"script_share", [&](const YamlEntry& e) { reader.fraction(e, rules.script_share); }}});
}

PairVocabulary read_vocabulary(RecipeReader& reader, const YamlEntry& entry) {
  PairVocabulary vocabulary;
  reader.read_map(
      entry, "the vocabulary",
      {{"kind",
        [&](const YamlEntry& e) {
          reader.word(e, parse_algorithm, vocabulary.training.algorithm);
        }},
       {"pieces", [&](const YamlEntry& e) { reader.count(e, vocabulary.training.pieces); }},
       {"joint", [&](const YamlEntry& e) { reader.flag(e, vocabulary.joint); }},
       {"byte_fallback",
        [&](const YamlEntry& e) { reader.flag(e, vocabulary.training.byte_fallback); }},
       {"coverage",
        [&](const YamlEntry& e) { reader.number(e, vocabulary.training.character_coverage); }}},
      {"pieces"});
  return vocabulary;
}

}  // namespace

bool is_parallel_recipe(const fs::path& path) {
  bool found = false;
  const YAML::Node root = RecipeReader(path).root();
  for (const auto& entry : root) {
    found |= entry.first.IsScalar() && entry.first.Scalar() == "languages";
  }
  return found;
}

ParallelRecipe read_parallel_recipe(const fs::path& path) {
  ParallelRecipe recipe;
  ParallelCorpus& corpus = recipe.corpus;
  RecipeReader reader(path);
  const auto held_out = [&](std::optional<HeldOutPairs>& set) {
    return [&reader, &set](const YamlEntry& e) {
      set.emplace();
      set->pairs = read_source(reader, e, &set->reference);
    };
  };
  RecipeReader::Keys keys = reader.origin_keys(recipe);
  keys.insert({
      {"languages",
       [&](const YamlEntry& e) {
         std::vector<std::string> names;
         reader.texts(e, names);
         if (names.size() != 2) return reader.add(e, "wanted two languages, as [en, de]");
         corpus.languages = {.source = names[0], .target = names[1]};
       }},
      {"train",
       [&](const YamlEntry& e) {
         reader.each_item(e, [&](const YamlEntry& item) {
           corpus.train.push_back(read_source(reader, item, nullptr));
         });
       }},
      {"validation", held_out(corpus.validation)},
      {"test", held_out(corpus.test)},
      {"validation_fraction",
       [&](const YamlEntry& e) { reader.fraction(e, corpus.validation_fraction); }},
      {"test_fraction", [&](const YamlEntry& e) { reader.fraction(e, corpus.test_fraction); }},
      {"rules", [&](const YamlEntry& e) { read_rules(reader, e, corpus.rules); }},
      {"vocabulary", [&](const YamlEntry& e) { recipe.vocabulary = read_vocabulary(reader, e); }},
  });
  reader.read(keys, {"name", "languages", "train"});
  reader.throw_if_any();
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
  require_raw_files(path, recipe.fetch, files);
  return recipe;
}

std::vector<PairSource> pair_sources_of(const std::vector<fs::path>& files) {
  std::vector<PairSource> sources;
  for (std::size_t i = 0; i < files.size(); ++i) {
    PairSource source{.format = guess_pair_format(files[i]), .source = files[i], .target = {}};
    if (takes_two_files(source.format)) {
      if (i + 1 == files.size() || guess_pair_format(files[i + 1]) != source.format) {
        throw_usage(files[i].string(), "stands alone, wanted the file of the other language next",
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
