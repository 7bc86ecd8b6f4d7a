// The lines of one file of a corpus, compressed or not. Only the line feed ends a line, so that two
// files of a parallel corpus agree on what a line is, whatever else Unicode calls a line's end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/corpus_stream.h"

namespace roformer {

class LineReader {
 public:
  // Bytes of a line that are kept; the rest of a longer one is dropped.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  // The files inside an archive follow each other. Throws as CorpusStream.
  explicit LineReader(const std::filesystem::path& path);

  // The next line without its end ("\n" or "\r\n") and without a byte order mark; false after the
  // last. The text is valid until the next call.
  bool next(std::string_view& line);
  std::int64_t number() const { return number_; }  // of the line read last, from 1
  // Throws Error (failure) where the line read last was longer than what is kept.
  void require_whole() const;
  // "FILE:NUMBER" for messages; the line after the last one read with `ahead` 1.
  std::string location(std::int64_t ahead = 0) const;
  const std::string& name() const { return stream_.name(); }
  std::uint64_t raw_bytes() const { return stream_.raw_bytes(); }

 private:
  CorpusStream stream_;
  std::string_view block_;  // not yet read
  std::string line_;
  std::int64_t number_ = 0;
  bool in_file_ = false;
  bool at_start_ = true;
  bool cut_ = false;  // the line read last

  bool fill();
};

}  // namespace roformer
