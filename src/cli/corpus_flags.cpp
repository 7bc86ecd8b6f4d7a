#include "cli/corpus_flags.h"

#include "base/error.h"

namespace roformer {

void add_corpus_flags(CLI::App& command, CorpusFlags& flags) {
  command.add_option("inputs", flags.inputs, "recipe, files, folders or -")
      ->required()
      ->type_name("INPUT");
  command
      .add_option(
          "--reader", flags.reader,
          "auto (default): json-lines where a name ends in .jsonl, .ndjson or .parquet, else text; "
          "json-lines: each line an object whose text is a document; text: lines as they are; "
          "verbatim, which keeps every byte; or libreoffice-help, whose HTML pages are documents")
      ->type_name("WORD");
  command
      .add_option("--text-field", flags.text_field,
                  "field of JSON Lines or Parquet that holds the text (default: text)")
      ->type_name("NAME");
  command.add_option("--files", flags.files, "read these files instead of the recipe's")
      ->type_name("INPUT");
  command
      .add_option("--include", flags.include,
                  "from folders and archives, only files whose names match, as '*.txt'")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command.add_flag("--skip-binary", flags.skip_binary,
                   "leave out files that are no text, with a warning, instead of stopping");
  command.add_flag("--skip-broken", flags.skip_broken,
                   "leave out, with a warning, lines of JSON Lines that are no JSON objects");
  command.add_flag("--follow-links", flags.follow_links,
                   "also read what links out of a folder lead to");
}

std::string first_text_flag(const CorpusFlags& flags) {
  if (!flags.files.empty()) return "--files";
  if (!flags.reader.empty()) return "--reader";
  if (!flags.text_field.empty()) return "--text-field";
  if (!flags.include.empty()) return "--include";
  return flags.skip_binary ? "--skip-binary" : "";
}

Recipe recipe_of(const CorpusFlags& flags) {
  Recipe recipe;
  if (const std::optional<std::filesystem::path> path = recipe_among(flags.inputs)) {
    recipe = read_recipe(*path, flags.files);
  } else {
    if (!flags.files.empty()) throw_usage("--files", "is for a recipe, and there is none");
    recipe.corpus.inputs = flags.inputs;
  }
  if (!flags.reader.empty()) recipe.corpus.reader = parse_corpus_reader(flags.reader);
  if (!flags.text_field.empty()) {
    CorpusReader& reader = recipe.corpus.reader;
    if (reader == CorpusReader::automatic) reader = CorpusReader::json_lines;
    if (reader != CorpusReader::json_lines) {
      throw_usage("--text-field", "is of JSON Lines, and the reader is " + to_string(reader));
    }
    recipe.corpus.text_field = flags.text_field;
  }
  recipe.corpus.include = flags.include;
  recipe.corpus.skip_binary = flags.skip_binary;
  recipe.corpus.follow_links = flags.follow_links;
  recipe.corpus.skip_broken = flags.skip_broken;
  return recipe;
}

}  // namespace roformer
