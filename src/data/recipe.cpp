#include "data/recipe.h"

#include "base/error.h"
#include "data/corpus_stream.h"
#include "data/recipe_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// [train, validation, test]
void read_shares(const YamlEntry& entry, RecipeReader& reader, Recipe& recipe) {
  if (!entry.value.IsSequence() || entry.value.size() != recipe.shares.bytes.size()) {
    return reader.add(entry, "wanted three counts of bytes: training, validation and test");
  }
  for (std::size_t i = 0; i < recipe.shares.bytes.size(); ++i) {
    std::int64_t count = 0;
    reader.count({.key = entry.key, .where = entry.where, .value = entry.value[i]}, count);
    if (count == 0) return reader.add(entry, "a set of 0 bytes");
    recipe.shares.bytes[i] = static_cast<std::uint64_t>(count);
  }
}

// The other ways to divide, and readers that do not keep every byte.
void check_shares(RecipeReader& reader, const Recipe& recipe) {
  const auto complain = [&](const char* key, const char* message) {
    const YAML::Node value = reader.root()[key];
    if (value) reader.add({.key = key, .where = reader.where(value), .value = value}, message);
  };
  if (recipe.shares.whole() == 0) {
    for (const char* const key : {"sha1", "begins_with"}) complain(key, "belongs to split_bytes");
    return;
  }
  for (const char* const key :
       {"validation_files", "test_files", "validation_fraction", "test_fraction"}) {
    complain(key, "the file is divided by split_bytes");
  }
  if (recipe.corpus.reader != CorpusReader::verbatim) {
    complain("split_bytes", "needs `reader: verbatim`, which keeps every byte");
  }
}

}  // namespace

Recipe read_recipe(const fs::path& path, const std::vector<fs::path>& files) {
  Recipe recipe;
  RecipeReader reader(path);
  RecipeReader::Keys keys = reader.origin_keys(recipe);
  keys.insert({
      {"files", [&](const YamlEntry& e) { reader.files(e, recipe.corpus.inputs); }},
      {"validation_files", [&](const YamlEntry& e) { reader.files(e, recipe.validation_files); }},
      {"test_files", [&](const YamlEntry& e) { reader.files(e, recipe.test_files); }},
      {"reader",
       [&](const YamlEntry& e) { reader.word(e, parse_corpus_reader, recipe.corpus.reader); }},
      {"document_separator",
       [&](const YamlEntry& e) {
         reader.word(e, parse_document_separator, recipe.corpus.separator);
       }},
      {"text_field", [&](const YamlEntry& e) { reader.text(e, recipe.corpus.text_field); }},
      {"remove_repeats", [&](const YamlEntry& e) { reader.flag(e, recipe.corpus.remove_repeats); }},
      {"validation_fraction",
       [&](const YamlEntry& e) { reader.fraction(e, recipe.validation_fraction); }},
      {"test_fraction", [&](const YamlEntry& e) { reader.fraction(e, recipe.test_fraction); }},
      {"split_bytes", [&](const YamlEntry& e) { read_shares(e, reader, recipe); }},
      {"sha1", [&](const YamlEntry& e) { reader.text(e, recipe.shares.sha1); }},
      {"begins_with", [&](const YamlEntry& e) { reader.text(e, recipe.shares.begins_with); }},
  });
  reader.read(keys, {"name", "files"});
  check_shares(reader, recipe);
  reader.throw_if_any();
  if (!files.empty()) recipe.corpus.inputs = files;
  require_raw_files(path, recipe.fetch, recipe.corpus.inputs);
  require_raw_files(path, recipe.fetch, recipe.validation_files);
  require_raw_files(path, recipe.fetch, recipe.test_files);
  return recipe;
}

std::optional<fs::path> recipe_among(const std::vector<fs::path>& arguments) {
  for (const fs::path& argument : arguments) {
    const std::string ending = ending_of(argument);
    if (ending != ".yaml" && ending != ".yml") continue;
    if (arguments.size() > 1) {
      throw_usage(argument.string(), "a recipe stands alone, without other files");
    }
    return argument;
  }
  return std::nullopt;
}

}  // namespace roformer
