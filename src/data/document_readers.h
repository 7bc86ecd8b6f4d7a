// Cuts a stream of bytes into lines and lines into documents. It keeps no more than one line, and
// of an endless one at most 1 MiB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "data/corpus.h"
#include "data/json_line_parser.h"

namespace roformer {

class DocumentSplitter {
 public:
  DocumentSplitter(DocumentSeparator separator, CorpusSink& sink)
      : separator_(separator), sink_(sink) {}

  // The next bytes of the current file, in pieces of any size.
  void feed(std::string_view bytes);
  // The end of a file ends its last line and document.
  void end_file();
  bool had_text() const { return had_text_; }

 private:
  DocumentSeparator separator_;
  CorpusSink& sink_;
  std::string pending_;       // the beginning of a line whose end has not come yet
  bool inside_line_ = false;  // parts of the pending line were taken
  std::uint64_t blank_lines_ = 0;
  bool in_document_ = false;
  bool at_file_start_ = true;
  bool had_text_ = false;

  // Adds to what is pending, and takes what is too long for one line.
  void hold(std::string_view bytes);
  void end_line();
  void take_line(std::string_view line);
  // The beginning of a line that is too long for one piece, or its middle.
  void take_part(std::string_view part);
  void begin_text();
  std::string_view without_mark(std::string_view text);
  void end_document();
};

// Passes a stream of bytes on as it is, line ends and blank lines included, in parts that end with
// a line or where a document does.

class VerbatimText {
 public:
  // A document ends before the first character that begins at or after each of the cuts (bytes from
  // the file's begin, rising), and at the end of the file. The cuts must outlive it.
  VerbatimText(std::span<const std::uint64_t> cuts, CorpusSink& sink) : cuts_(cuts), sink_(sink) {}

  // The next bytes of the file, in pieces of any size.
  void feed(std::string_view bytes);
  void end_file();

 private:
  std::span<const std::uint64_t> cuts_;  // that are still to come
  CorpusSink& sink_;
  std::string pending_;         // the begin of a part
  std::uint64_t position_ = 0;  // in the file, of the byte after `pending_`

  void end_part();
};

// JSON Lines as a corpus: each line an object, and one of its fields a document, as Hugging Face's
// data sets and most crawls are handed on.

class JsonDocuments {
 public:
  // The texts are in `field`; `file` is for messages. With `skip_broken` lines that are no JSON
  // objects are left out.
  JsonDocuments(std::string file, std::string field, CorpusSink& sink, bool skip_broken = false);

  // The next bytes of the file, in pieces of any size; a line is held until it is whole. Throws
  // Error (failure) naming FILE:LINE for what is no JSON object, for an object without the field,
  // and for a line above 64 MiB.
  void feed(std::string_view bytes);
  void end_file();
  bool had_text() const { return documents_.had_text(); }
  // Malformed sequences of the texts that became U+FFFD.
  std::uint64_t replaced() const { return replaced_; }

 private:
  std::string file_;
  std::string field_;
  DocumentSplitter documents_;
  JsonLineParser parser_;
  std::string pending_;  // the beginning of a line
  std::uint64_t replaced_ = 0;
  std::uint64_t lines_ = 0;

  void take_line(std::string_view line);
  std::string location() const;
};

// Whether a file's name ends as that of JSON Lines, compressed or not: "corpus.jsonl.gz".
bool is_json_lines(const std::filesystem::path& file);

}  // namespace roformer
