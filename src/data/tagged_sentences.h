// Sentences of words with a tag for each word, in CoNLL's columns or as JSON Lines; for predictions
// also plain sentences, one a line. All are read compressed or not.
//
// CoNLL: a word and its tag a line, in columns with tabs or blanks between them; a blank line ends
// a sentence, and lines that begin with -DOCSTART- are skipped. A file .conllu also has comments
// (#) and lines for parts of words (1-2, 1.1), which are skipped. JSON Lines: a list of words and a
// list of tags in each object. Tags may be numbers (Hugging Face's ner_tags): those of the classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_reader.h"
#include "data/record_reader.h"

namespace roformer {

enum class TaggedFormat { automatic, conll, jsonl, text };

struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // of the words; none if they are not read
  std::int64_t line = 0;          // of the first word, from 1
};

// A sentence with its lines, to write them again.
struct TaggedLines {
  TaggedSentence sentence;
  struct Line {
    std::string text;
    bool is_word = false;  // else a blank line, a comment or -DOCSTART-
  };
  std::vector<Line> lines;  // CoNLL
  char separator = '\t';    // between its columns
  nlohmann::json object;    // JSON Lines
};

class TaggedReader {
 public:
  struct Options {
    // automatic: JSON Lines or CoNLL by the name of the file (.jsonl, .conll, .conllu, .bio, .iob)
    // or by the first line: an object; -DOCSTART-, a tab, or blanks before one of `classes`.
    // Otherwise CoNLL if the tags are read, else plain sentences.
    TaggedFormat format = TaggedFormat::automatic;
    // The columns by number from 1, or by the names in the first line; the fields of JSON Lines.
    // Empty: the first and the last column; the fields tokens or words, and tags or ner_tags.
    std::string tokens, tags;
    std::vector<std::string> classes;  // the names of tags that are numbers
    bool labelled = true;              // false: the tags are not read and may be missing
    bool skip_broken = false;          // leaves out lines that are no JSON objects
  };

  // `file`: "-" is standard input. Throws Error as LineReader does.
  TaggedReader(const std::filesystem::path& file, Options options);

  // Goes to the next sentence. Returns false after the last. A blank line of plain sentences is a
  // sentence without words, and so is a line that skip_broken leaves out. Throws Error (failure,
  // FILE:LINE) for another number of columns or tags than before, for an empty tag and for a number
  // without a class; usage for columns or fields that the file does not have.
  bool next(TaggedLines& result);

  TaggedFormat format() const { return options_.format; }  // known after the first sentence
  bool has_numbers() const { return has_numbers_; }        // some tag was a number
  LineReader& lines() { return lines_; }

 private:
  Options options_;
  LineReader lines_;
  RecordReader records_;
  bool begun_ = false;
  bool ended_ = false;  // no record is left
  bool has_numbers_ = false;
  std::int64_t blank_ = 0;  // blank lines before the present record that were not passed on
  std::string line_;        // the present record, not of JSON Lines
  // CoNLL
  bool is_conllu_ = false;
  bool by_tabs_ = false;
  std::size_t width_ = 0;  // columns of every line; 0: not known yet
  std::size_t token_column_ = 0, tag_column_ = 0;
  std::vector<std::string> names_;  // of the columns, from the first line
  // JSON Lines
  std::string token_field_, tag_field_;

  void advance();
  void begin();
  TaggedFormat found_format() const;
  std::vector<std::string> columns() const;
  bool is_no_word() const;
  bool read_header();
  void find_columns();
  std::size_t column(const std::string& wanted, const char* key) const;
  bool next_columns(TaggedLines& result);
  void add_word(TaggedLines& result);
  bool next_object(TaggedLines& result);
  void find_fields();
  std::string field(const std::string& wanted, const char* key,
                    const std::vector<std::string>& usual) const;
  const nlohmann::json& list(const std::string& name) const;
  std::string tag_of(const nlohmann::json& value);
  bool next_text(TaggedLines& result);
};

// The format of "auto", "conll" ("tsv"), "jsonl" or "text".
TaggedFormat tagged_format(std::string_view word);

}  // namespace roformer
