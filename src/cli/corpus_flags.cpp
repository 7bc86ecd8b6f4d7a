#include "cli/corpus_flags.h"

namespace roformer {

void add_corpus_flags(CLI::App& command, CorpusFlags& flags) {
  command.add_option("inputs", flags.inputs, "recipe, files, folders or -")
      ->required()
      ->type_name("INPUT");
  command
      .add_option("--reader", flags.reader,
                  "text (default) or libreoffice-help, whose HTML pages are documents")
      ->type_name("WORD");
}

Recipe recipe_of(const CorpusFlags& flags) {
  Recipe recipe;
  if (std::optional<Recipe> found = recipe_among(flags.inputs)) {
    recipe = *std::move(found);
  } else {
    recipe.corpus.inputs = flags.inputs;
  }
  if (!flags.reader.empty()) recipe.corpus.reader = parse_corpus_reader(flags.reader);
  return recipe;
}

}  // namespace roformer
