// Readers that turn the bytes of one corpus file into documents. They read text with separators,
// JSON Lines, pages of LibreOffice's help, or every byte unchanged.
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
  // Malformed sequences that this reader replaced by U+FFFD, without those that the tokenizer
  // replaces.
  virtual std::uint64_t replaced() const { return 0; }
};

// `reader` is not automatic; `file` is for messages. The options must outlive the result.
std::unique_ptr<DocumentReader> open_documents(CorpusReader reader, const std::string& file,
                                               const CorpusOptions& options, CorpusSink& sink);

// Cuts bytes into lines and lines into documents. It keeps at most one line, and at most 1 MiB of
// an endless line.
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

  // Adds to the pending text, and takes from it the part that is too long for one line.
  void hold(std::string_view bytes);
  void end_line();
  void take_line(std::string_view line);
  void begin_text();
  std::string_view without_mark(std::string_view text);
  void end_document();
};

// Reads JSON Lines, the form in which Hugging Face's data sets and most crawls are published: each
// line is an object, and one of its fields is a document.
class JsonDocuments : public DocumentReader {
 public:
  // The texts are in `field`. With `skip_broken`, leaves out lines that are not JSON objects.
  JsonDocuments(std::string file, std::string field, CorpusSink& sink, bool skip_broken = false);

  // Keeps a line until it is complete. Throws Error (failure) naming FILE:LINE for a line that is
  // not a JSON object, lacks the field or is longer than 64 MiB.
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

// Whether a file's name has an ending of JSON Lines, compressed or not ("corpus.jsonl.gz"), or of
// Parquet, whose rows are read as JSON Lines.
bool is_json_lines(const std::filesystem::path& file);

}  // namespace roformer
