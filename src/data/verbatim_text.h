// Passes a stream of bytes on as it is, line ends and blank lines included, in parts that end with
// a line or where a document does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/corpus.h"

namespace roformer {

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

}  // namespace roformer
