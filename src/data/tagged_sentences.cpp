#include "data/tagged_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/as_number.h"
#include "base/blank.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/json.h"
#include "base/parts.h"
#include "base/printable.h"
#include "base/progress.h"
#include "config/suggest.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kDocument = "-DOCSTART-";
constexpr std::size_t kFewNames = 8;
// Columns of CoNLL-U, from 1.
constexpr const char* kForm = "2";
constexpr const char* kPartOfSpeech = "4";

bool is_conll_name(const fs::path& file) {
  const std::string ending = ending_of(file);
  for (const char* const known : {".conll", ".conllu", ".bio", ".iob", ".iob2"}) {
    if (ending == known) return true;
  }
  return false;
}

TextFormat record_format(TaggedFormat format, const fs::path& file) {
  if (format == TaggedFormat::jsonl) return TextFormat::jsonl;
  const bool automatic = format == TaggedFormat::automatic && !is_conll_name(file);
  return automatic ? TextFormat::automatic : TextFormat::tsv;
}

std::string_view between_blanks(std::string_view text) {
  return trimmed(text, " \t");
}

// The parts between blanks.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (line = between_blanks(line); !line.empty(); line = between_blanks(line)) {
    const std::size_t end = std::min(line.find_first_of(" \t\v\f"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

// The number of a column, from 1; 0 for another text.
std::size_t number_of_column(std::string_view text) {
  return as_number<std::size_t>(text).value_or(0);
}

bool is_column_name(const std::string& column) {
  return !column.empty() && number_of_column(column) == 0;
}

}  // namespace

TaggedFormat tagged_format(std::string_view word) {
  if (word == "conll" || word == "tsv") return TaggedFormat::conll;
  if (word == "text") return TaggedFormat::text;
  return word == "jsonl" ? TaggedFormat::jsonl : TaggedFormat::automatic;
}

TaggedReader::TaggedReader(const fs::path& file, Options options)
    : options_(std::move(options)),
      lines_(file, LineReader::kAnyLength),
      records_(lines_,
               {.format = record_format(options_.format, file),
                .hint = R"(wanted {"tokens": ["a", "b"], "tags": ["O", "B-X"]})",
                .hint_for_broken = R"(wanted {"tokens": [...], "tags": [...]} in every line)",
                .skip_broken = options_.skip_broken}),
      is_conllu_(ending_of(file) == ".conllu") {
  if (options_.format == TaggedFormat::automatic && is_conll_name(file)) {
    options_.format = TaggedFormat::conll;
  }
  if (!is_conllu_) return;
  if (options_.tokens.empty()) options_.tokens = kForm;
  if (options_.tags.empty()) options_.tags = kPartOfSpeech;
}

void TaggedReader::advance() {
  ended_ = !records_.next();
  if (ended_) return;
  blank_ = records_.blank_before();
  if (!records_.is_json()) line_ = fmt::format("{}", fmt::join(records_.cells(), "\t"));
}

void TaggedReader::begin() {
  begun_ = true;
  advance();
  if (!ended_ && options_.format == TaggedFormat::automatic) options_.format = found_format();
}

TaggedFormat TaggedReader::found_format() const {
  if (records_.is_json()) return TaggedFormat::jsonl;
  const bool columns = line_.starts_with(kDocument) || line_.find('\t') != std::string::npos;
  if (options_.labelled || columns) return TaggedFormat::conll;
  const std::vector<std::string> words = words_of(line_);
  const bool ends_with_tag =
      words.size() > 1 && std::ranges::count(options_.classes, words.back()) > 0;
  return ends_with_tag ? TaggedFormat::conll : TaggedFormat::text;
}

bool TaggedReader::next(TaggedLines& result) {
  result = {};
  if (!begun_) begin();
  if (ended_) return false;
  switch (options_.format) {
    case TaggedFormat::jsonl:
      return next_object(result);
    case TaggedFormat::text:
      return next_text(result);
    default:
      return next_columns(result);
  }
}

// A blank line or -DOCSTART- ends a sentence, and its successor begins with it.
bool TaggedReader::next_columns(TaggedLines& result) {
  for (; !ended_; advance()) {
    const bool has_words = !result.sentence.words.empty();
    if (has_words && (blank_ > 0 || line_.starts_with(kDocument))) break;
    for (; blank_ > 0; --blank_) result.lines.push_back({});
    if (is_no_word() || read_header()) {
      result.lines.push_back({.text = line_});
    } else {
      add_word(result);
    }
  }
  result.separator = by_tabs_ ? '\t' : ' ';
  return true;
}

bool TaggedReader::is_no_word() const {
  if (line_.starts_with(kDocument)) return true;
  if (!is_conllu_) return false;
  const std::string_view first = std::string_view(line_).substr(0, line_.find('\t'));
  return line_.starts_with('#') || first.find_first_of("-.") != std::string_view::npos;
}

std::vector<std::string> TaggedReader::columns() const {
  if (!by_tabs_) return words_of(line_);
  std::vector<std::string> columns;
  for (const std::string_view cell : tab_columns(line_)) columns.emplace_back(between_blanks(cell));
  return columns;
}

// Takes the names of the columns from the first line if columns are named. A file to predict may
// lack them.
bool TaggedReader::read_header() {
  const bool named = is_column_name(options_.tokens) || is_column_name(options_.tags);
  if (!named || width_ > 0 || !names_.empty()) return false;
  by_tabs_ = line_.find('\t') != std::string::npos;
  names_ = columns();
  if (options_.labelled || std::ranges::count(names_, options_.tokens) > 0) return true;
  names_.clear();
  if (is_column_name(options_.tokens)) options_.tokens.clear();
  return false;
}

std::size_t TaggedReader::column(const std::string& wanted, const char* key) const {
  const auto named = std::ranges::find(names_, wanted);
  if (named != names_.end()) return static_cast<std::size_t>(named - names_.begin());
  const std::size_t number = number_of_column(wanted);
  if (number > 0 && number <= width_) return number - 1;
  std::string hint = number > 0 ? "" : suggestion(wanted, names_);
  if (!hint.empty()) hint += "; ";
  throw_usage(
      key, fmt::format("{} has no column {}", lines_.name(), printable(wanted)),
      names_.empty()
          ? fmt::format("it has {}", format_counted(static_cast<std::int64_t>(width_), "column"))
          : fmt::format("{}its first line has {}", hint, few_of(names_, kFewNames)));
}

void TaggedReader::find_columns() {
  by_tabs_ = line_.find('\t') != std::string::npos;
  width_ = columns().size();
  if (options_.labelled && width_ < 2) {
    throw_failure(records_.location(), "has 1 column, wanted a word and its tag",
                  "tabs or blanks between the columns, a blank line after a sentence");
  }
  const bool only_words = !options_.labelled && width_ == 1;
  token_column_ =
      options_.tokens.empty() || only_words ? 0 : column(options_.tokens, "tagging.tokens");
  if (!options_.labelled) return;
  tag_column_ = options_.tags.empty() ? width_ - 1 : column(options_.tags, "tagging.tags");
}

void TaggedReader::add_word(TaggedLines& result) {
  if (width_ == 0) find_columns();
  std::vector<std::string> cells = columns();
  if (cells.size() != width_) {
    throw_failure(records_.location(),
                  fmt::format("has {}, the lines before {}",
                              format_counted(std::ssize(cells), "column"), width_),
                  "a word with blanks needs tabs between the columns");
  }
  TaggedSentence& sentence = result.sentence;
  if (sentence.words.empty()) sentence.line = lines_.number();
  if (options_.labelled) {
    if (cells[tag_column_].empty()) throw_failure(records_.location(), "has an empty tag");
    sentence.tags.push_back(cells[tag_column_]);
  }
  sentence.words.push_back(std::move(cells[token_column_]));
  result.lines.push_back({.text = line_, .is_word = true});
}

std::string TaggedReader::field(const std::string& wanted, const char* key,
                                const std::vector<std::string>& usual) const {
  const nlohmann::json& object = records_.object();
  std::vector<std::string> names = usual;
  if (!wanted.empty()) names = {wanted};
  for (const std::string& name : names) {
    if (object.contains(name)) return name;
  }
  std::vector<std::string> fields;
  for (const auto& [name, value] : object.items()) fields.push_back(name);
  throw_usage(key,
              fmt::format("{} has no \"{}\"", records_.location(), fmt::join(names, "\" or \"")),
              "its fields: " + few_of(fields, kFewNames));
}

void TaggedReader::find_fields() {
  token_field_ = field(options_.tokens, "tagging.tokens", {"tokens", "words"});
  if (options_.labelled) tag_field_ = field(options_.tags, "tagging.tags", {"tags", "ner_tags"});
}

const nlohmann::json& TaggedReader::list(const std::string& name) const {
  const auto found = records_.object().find(name);
  if (found != records_.object().end() && found->is_array()) return *found;
  records_.refuse(
      fmt::format("has no list {}{}", printable(name),
                  found == records_.object().end() ? "" : ": it is " + describe_json(*found)));
}

bool TaggedReader::next_object(TaggedLines& result) {
  if (!options_.labelled && blank_ > 0) {  // answered by a blank line
    --blank_;
    return true;
  }
  if (records_.is_left_out()) {
    advance();
    return true;
  }
  if (token_field_.empty()) find_fields();
  TaggedSentence& sentence = result.sentence;
  sentence.line = lines_.number();
  for (const nlohmann::json& word : list(token_field_)) {
    if (!word.is_string()) {
      records_.refuse(
          fmt::format("has {} in {}, wanted texts", describe_json(word), printable(token_field_)));
    }
    sentence.words.push_back(records_.valid(word.get<std::string>()));
  }
  if (options_.labelled) {
    for (const nlohmann::json& tag : list(tag_field_)) sentence.tags.push_back(tag_of(tag));
    if (sentence.tags.size() != sentence.words.size()) {
      records_.refuse(fmt::format("has {} and {}",
                                  format_counted(std::ssize(sentence.words), "word"),
                                  format_counted(std::ssize(sentence.tags), "tag")));
    }
  }
  result.object = records_.object();
  advance();
  return true;
}

std::string TaggedReader::tag_of(const nlohmann::json& value) {
  if (value.is_string()) {
    std::string tag = records_.valid(value.get<std::string>());
    if (is_blank(tag)) records_.refuse("has an empty tag");
    return tag;
  }
  if (!value.is_number_integer()) {
    records_.refuse(fmt::format("has the tag {}, wanted a text or a number", describe_json(value)));
  }
  if (options_.classes.empty()) {
    throw_usage("tagging.classes",
                records_.location() + " has numbers as tags, and their names are not given",
                "--tagging.classes \"[O, B-PER, I-PER, ...]\" in the order of the numbers, from 0");
  }
  has_numbers_ = true;
  const auto count = static_cast<std::int64_t>(options_.classes.size());
  const std::int64_t number = json_integer(value, records_.location());
  if (number < 0 || number >= count) {
    records_.refuse(fmt::format("has the tag {}, wanted 0 to {}", number, count - 1));
  }
  return options_.classes[static_cast<std::size_t>(number)];
}

bool TaggedReader::next_text(TaggedLines& result) {
  if (blank_ > 0) {
    --blank_;
    return true;
  }
  result.sentence.line = lines_.number();
  result.sentence.words = words_of(line_);
  advance();
  return true;
}

}  // namespace roformer
