#include "data/recipe.h"

#include "base/error.h"
#include "data/recipe_reader.h"

namespace roformer {
namespace fs = std::filesystem;

Recipe read_recipe(const fs::path& path) {
  Recipe recipe;
  RecipeReader reader(path);
  const RecipeReader::Keys keys = {
      {"name", [&](const YamlEntry& e) { reader.text(e, recipe.name); }},
      {"description", [&](const YamlEntry& e) { reader.text(e, recipe.description); }},
      {"source", [&](const YamlEntry& e) { reader.text(e, recipe.source); }},
      {"licence", [&](const YamlEntry& e) { reader.text(e, recipe.licence); }},
      {"packages", [&](const YamlEntry& e) { reader.texts(e, recipe.packages); }},
      {"fetch", [&](const YamlEntry& e) { reader.text(e, recipe.fetch); }},
      {"files", [&](const YamlEntry& e) { reader.files(e, recipe.corpus.inputs); }},
      {"validation_files", [&](const YamlEntry& e) { reader.files(e, recipe.validation_files); }},
      {"reader",
       [&](const YamlEntry& e) { reader.word(e, parse_corpus_reader, recipe.corpus.reader); }},
      {"document_separator",
       [&](const YamlEntry& e) {
         reader.word(e, parse_document_separator, recipe.corpus.separator);
       }},
      {"remove_repeats", [&](const YamlEntry& e) { reader.flag(e, recipe.corpus.remove_repeats); }},
      {"validation_fraction",
       [&](const YamlEntry& e) { reader.fraction(e, recipe.validation_fraction); }},
  };
  reader.read(keys, {"name", "files"});
  reader.throw_if_any();
  require_raw_files(path, recipe.fetch, recipe.corpus.inputs);
  require_raw_files(path, recipe.fetch, recipe.validation_files);
  return recipe;
}

std::optional<fs::path> recipe_among(const std::vector<fs::path>& arguments) {
  for (const fs::path& argument : arguments) {
    const std::string extension = argument.extension().string();
    if (extension != ".yaml" && extension != ".yml") continue;
    if (arguments.size() > 1) {
      throw_usage(argument.string(), "a recipe stands alone, without other files");
    }
    return argument;
  }
  return std::nullopt;
}

}  // namespace roformer
