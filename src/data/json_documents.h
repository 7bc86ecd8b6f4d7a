// JSON Lines as a corpus: each line an object, and one of its fields a document, as Hugging Face's
// data sets and most crawls are handed on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/corpus.h"
#include "data/document_splitter.h"
#include "data/json_line_parser.h"

namespace roformer {

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
