// Cuts a stream of bytes into lines and lines into documents. It keeps no more than one line, and
// of an endless one at most 1 MiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/corpus.h"

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

}  // namespace roformer
