// Readers that turn the bytes of one corpus file into documents: text cut at its separators, JSON
// Lines, pages of LibreOffice's help, or every byte as it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/corpus.h"
#include "data/json_line_parser.h"

namespace roformer {

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  // The next bytes of the file, in pieces of any size.
  virtual void feed(std::string_view bytes) = 0;
  virtual void end_file() = 0;
  virtual bool had_text() const = 0;
  // Malformed sequences that became U+FFFD here and not in the tokenizer.
  virtual std::uint64_t replaced() const { return 0; }
};

// `reader` is not automatic; `file` is for messages. The options must outlive the result.
std::unique_ptr<DocumentReader> open_documents(CorpusReader reader, const std::string& file,
                                               const CorpusOptions& options, CorpusSink& sink);

// Cuts bytes into lines and lines into documents. It keeps no more than one line, and of an endless
// one at most 1 MiB.
class DocumentSplitter : public DocumentReader {
 public:
  DocumentSplitter(DocumentSeparator separator, CorpusSink& sink)
      : separator_(separator), sink_(sink) {}

  void feed(std::string_view bytes) override;
  // Ends the last line and document.
  void end_file() override;
  bool had_text() const override { return had_text_; }

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
  void begin_text();
  std::string_view without_mark(std::string_view text);
  void end_document();
};

// JSON Lines: each line is an object, and one of its fields a document, as Hugging Face's data sets
// and most crawls are published.
class JsonDocuments : public DocumentReader {
 public:
  // The texts are in `field`. With `skip_broken` lines that are no JSON objects are left out.
  JsonDocuments(std::string file, std::string field, CorpusSink& sink, bool skip_broken = false);

  // Holds a line until it is complete. Throws Error (failure) naming FILE:LINE for a line that is
  // no JSON object, lacks the field or is longer than 64 MiB.
  void feed(std::string_view bytes) override;
  void end_file() override;
  bool had_text() const override { return documents_.had_text(); }
  std::uint64_t replaced() const override { return replaced_; }

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

// Whether a file's name has an ending of JSON Lines, compressed or not: "corpus.jsonl.gz".
bool is_json_lines(const std::filesystem::path& file);

}  // namespace roformer
