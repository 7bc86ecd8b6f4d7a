// The lines of a file or of standard input ("-"). Every command that takes lines uses this reader.
// It decompresses files, decodes UTF-16 with a byte order mark, and refuses input that is not text.
// Only the line feed ends a line, so that two files of a parallel corpus agree on the number of
// lines. Other line ends of Unicode do not count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "data/corpus_stream.h"
#include "text/utf16.h"

namespace roformer {

class LineReader {
 public:
  // The number of bytes kept of a line by default. The rest of the line is dropped.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  static constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

  // The files inside an archive follow each other. Throws as CorpusStream does.
  explicit LineReader(const std::filesystem::path& path, std::size_t longest = kLongestLine);

  // The next line unchanged, without its end (LF or CR LF) and without a byte order mark. Returns
  // false after the last line. The text is valid until the next call. Throws Error (failure) if the
  // input cannot be read, and NotText. Standard input is passed on as it arrives, so that a program
  // can write a line and wait for the answer.
  bool next(std::string_view& line);
  // The same as valid UTF-8: malformed sequences become U+FFFD and are counted.
  bool next_text(std::string_view& line);
  // Whether next() may have to wait for the rest of a line. Callers then write the answers so far.
  bool may_wait() const { return block_.find('\n') == std::string_view::npos; }

  std::int64_t number() const { return number_; }  // of the line read last, from 1
  std::int64_t files() const { return files_; }    // that lines came from
  // Throws Error (failure) if the last line was longer than the limit.
  void require_whole() const;
  // "FILE:NUMBER" for messages. `ahead` 1 gives the line after the last one read.
  std::string location(std::int64_t ahead = 0) const;
  // The path, or "ARCHIVE:PATH INSIDE".
  const std::string& name() const { return stream_ ? stream_->name() : name_; }
  // Bytes read so far from the file on the disk, for progress.
  std::uint64_t raw_bytes() const { return stream_ ? stream_->raw_bytes() : input_bytes_; }
  // Adds the sequences that the caller replaced in the lines from next().
  void add_replaced(std::uint64_t sequences) { replaced_ += sequences; }
  std::uint64_t replaced() const { return replaced_ + (utf16_ ? utf16_->replaced() : 0); }
  // Logs how many malformed sequences became U+FFFD, if there were any.
  void warn_of_replaced() const;

 private:
  std::string name_;
  std::size_t longest_;
  std::optional<CorpusStream> stream_;  // none: standard input that is not compressed
  bool opened_ = false;                 // standard input
  bool input_ended_ = false;
  std::string input_;          // the last block read from standard input
  bool input_is_new_ = false;  // and was not passed on
  std::uint64_t input_bytes_ = 0;

  bool in_file_ = false;
  bool at_start_ = false;       // of the current file's bytes
  bool before_line_1_ = false;  // of the current file
  std::size_t inspected_ = 0;   // bytes of the current file
  std::optional<Utf16Decoder> utf16_;
  std::string begin_;  // of the current file
  std::string text_;   // decoded

  std::string_view block_;  // not yet read
  std::string line_;
  std::string repaired_;
  std::uint64_t replaced_ = 0;
  std::int64_t number_ = 0;
  std::int64_t files_ = 0;
  bool cut_ = false;  // the line read last

  bool next_file();
  bool open_input();
  bool read_input(std::string& bytes);
  std::string_view raw();
  std::string_view first_bytes();
  std::string_view decoded(std::string_view bytes);
  std::string_view text();
  bool fill();
};

}  // namespace roformer
