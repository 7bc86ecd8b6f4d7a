#include "data/recipe.h"

#include <fmt/format.h>

#include "base/blank.h"
#include "base/error.h"
#include "base/shipped.h"
#include "config/yaml_text.h"
#include "data/corpus_stream.h"
#include "data/line_reader.h"
#include "data/table_reader.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// [train, validation, test]
void read_shares(const YamlFields& fields, ByteShares& shares) {
  const YamlNode list = fields.node("split_bytes");
  if (!list.is_there()) return;
  if (list.items().size() != shares.bytes.size()) {
    fields.complain("split_bytes", "wanted three counts of bytes: training, validation and test");
    return;
  }
  const auto counts = fields.counts("split_bytes", between(1, 1e9));
  std::ranges::copy(counts, shares.bytes.begin());
}

// The other ways to divide, and readers that do not keep every byte.
void check_shares(const YamlFields& fields, const Recipe& recipe) {
  const auto complain = [&](std::initializer_list<const char*> keys, const char* message) {
    for (const char* const key : keys) {
      if (fields.has(key)) fields.complain(key, message);
    }
  };
  if (recipe.shares.whole() == 0) {
    complain({"sha1", "begins_with"}, "belongs to split_bytes");
    return;
  }
  complain({"validation_files", "test_files", "validation_fraction", "test_fraction"},
           "the file is divided by split_bytes");
  if (recipe.corpus.reader != CorpusReader::verbatim) {
    complain({"split_bytes"}, "needs `reader: verbatim`, which keeps every byte");
  }
}

// The command with the place of its script, which an installed program has in another folder.
std::string runnable(const std::string& command) {
  const std::string script = command.substr(0, command.find(' '));
  return located_in(shipped_folder(), script).string() + command.substr(script.size());
}

}  // namespace

Recipe read_recipe(const fs::path& path, const std::vector<fs::path>& files) {
  Recipe recipe;
  CorpusOptions& corpus = recipe.corpus;
  read_recipe_fields(path, [&](const YamlFields& fields) {
    read_origin(fields, recipe);
    fields.require("files");
    corpus.inputs = fields.files("files");
    recipe.validation_files = fields.files("validation_files");
    recipe.test_files = fields.files("test_files");
    corpus.reader = fields.parsed("reader", corpus.reader, parse_corpus_reader);
    corpus.separator =
        fields.parsed("document_separator", corpus.separator, parse_document_separator);
    fields.take("text_field", corpus.text_field);
    fields.take("remove_repeats", corpus.remove_repeats);
    fields.take("validation_fraction", recipe.validation_fraction, below_one());
    fields.take("test_fraction", recipe.test_fraction, below_one());
    read_shares(fields, recipe.shares);
    fields.take("sha1", recipe.shares.sha1);
    fields.take("begins_with", recipe.shares.begins_with);
    check_shares(fields, recipe);
  });
  if (!files.empty()) corpus.inputs = files;
  for (const auto* const raw : {&corpus.inputs, &recipe.validation_files, &recipe.test_files}) {
    require_raw_files(path, recipe.fetch, *raw);
  }
  // Other files are not those of the listed packages.
  if (files.empty()) {
    if (!recipe.package_list.empty()) require_raw_files(path, recipe.fetch, {recipe.package_list});
    add_package_licences(recipe);
  }
  return recipe;
}

std::optional<fs::path> recipe_among(const std::vector<fs::path>& arguments) {
  for (const fs::path& argument : arguments) {
    const std::string ending = ending_of(argument);
    if (ending != ".yaml" && ending != ".yml") continue;
    if (arguments.size() > 1) {
      throw_usage(argument.string(), "a recipe is given alone, without other files");
    }
    return argument;
  }
  return std::nullopt;
}

YAML::Node parse_recipe(const fs::path& path, const std::string& what) {
  const YAML::Node root = parse_document_of(path);
  if (!root.IsMap()) {
    throw_usage(path.string(), fmt::format("is not {}: wanted `key: value` lines", what));
  }
  return root;
}

void read_recipe_fields(const fs::path& path, const YamlFields::Read& read,
                        const std::string& what) {
  Problems problems;
  YamlFields::read_map(path, parse_recipe(path, what), "", problems, read);
  problems.throw_if_any();
}

void read_origin(const YamlFields& fields, RecipeOrigin& origin) {
  fields.require("name");
  for (const auto& [key, value] : {std::pair("name", &origin.name),
                                   {"description", &origin.description},
                                   {"source", &origin.source},
                                   {"licence", &origin.licence},
                                   {"fetch", &origin.fetch}}) {
    fields.take(key, *value);
  }
  if (fields.has("packages")) origin.packages = fields.texts("packages");
  origin.package_list = fields.file("package_list");
}

void add_package_licences(RecipeOrigin& origin) {
  if (origin.package_list.empty()) return;
  LineReader lines(origin.package_list);
  std::string_view line;
  while (lines.next_text(line)) {
    if (is_blank(line)) continue;
    const Cells cells = tab_columns(line);
    if (cells.size() < 3) {
      throw_failure(lines.location(),
                    "wanted a package, its version and its licence, tabs between");
    }
    origin.licence += fmt::format("{}{} {}: {}", origin.licence.empty() ? "" : "; ", cells[0],
                                  cells[1], cells[2]);
  }
}

void require_raw_files(const fs::path& recipe, const std::string& fetch,
                       const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code error;
    if (fs::exists(file, error)) continue;
    throw_failure(recipe.string(), fmt::format("its raw files are not there: {}", file.string()),
                  fetch.empty() ? "" : "fetch them: " + runnable(fetch));
  }
}

}  // namespace roformer
