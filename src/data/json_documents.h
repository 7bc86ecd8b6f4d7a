// JSON Lines as a corpus: each line an object, and one of its fields a document, as Hugging Face's
// data sets and most crawls are handed on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/corpus.h"
#include "data/document_splitter.h"

namespace roformer {

class JsonDocuments {
 public:
  // The texts stand in `field`; `file` is for messages.
  JsonDocuments(std::string file, std::string field, CorpusSink& sink);

  // The next bytes of the file, in pieces of any size; a line is held until it is whole. Throws
  // Error (failure) naming FILE:LINE for what is no JSON object in UTF-8, for an object without the
  // field, and for a line above 64 MiB.
  void feed(std::string_view bytes);
  void end_file();
  bool had_text() const { return documents_.had_text(); }

 private:
  std::string file_;
  std::string field_;
  DocumentSplitter documents_;
  std::string pending_;  // the beginning of a line
  std::uint64_t lines_ = 0;

  void take_line(std::string_view line);
  std::string location() const;
};

// Whether a file's name ends as that of JSON Lines, compressed or not: "corpus.jsonl.gz".
bool is_json_lines(const std::filesystem::path& file);

}  // namespace roformer
