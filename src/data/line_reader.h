// The text of a file or of standard input, for the reader of lines: decompressed, UTF-16 that
// begins with its mark decoded, and what is no text refused. Standard input is handed on as it
// arrives, so that a program that writes a line can wait for its answer.
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

class TextSource {
 public:
  // "-" is standard input. Throws as CorpusStream.
  explicit TextSource(const std::filesystem::path& path);

  // Goes to the next file inside, as CorpusStream does. False at the end.
  bool next_file();
  // The path, or "ARCHIVE:PATH INSIDE".
  const std::string& name() const { return packed_ ? packed_->name() : name_; }
  // The next bytes of the current file, valid until the next call; empty at its end. They are UTF-8
  // but for malformed sequences. Throws Error (failure) where the input cannot be read, and
  // NotText.
  std::string_view read();
  // Bytes taken so far from the file as it is on the disk, for progress.
  std::uint64_t raw_bytes() const { return packed_ ? packed_->raw_bytes() : input_bytes_; }
  // Halves of characters of UTF-16 that became U+FFFD.
  std::uint64_t replaced() const { return replaced_ + (utf16_ ? utf16_->replaced() : 0); }

 private:
  bool is_input_;
  std::string name_;
  std::optional<CorpusStream> packed_;  // none: standard input that is not compressed
  bool opened_ = false;                 // standard input
  bool input_ended_ = false;
  std::string input_;          // what was read last of standard input
  bool input_is_new_ = false;  // and was not handed on
  std::uint64_t input_bytes_ = 0;

  bool at_start_ = false;      // of the current file
  std::size_t inspected_ = 0;  // bytes of the current file
  std::optional<Utf16Decoder> utf16_;
  std::string begin_;  // of the current file
  std::string text_;   // decoded
  std::uint64_t replaced_ = 0;

  bool open_input();
  bool read_input(std::string& bytes);
  std::string_view raw();
  std::string_view first_bytes();
  std::string_view decoded(std::string_view bytes);
};

// The lines that a user hands in, of a file or of standard input ("-"): the one reader of all
// commands. Files may be compressed, and UTF-16 with its mark is decoded. Only the line feed ends a
// line, so that two files of a parallel corpus agree on what a line is, whatever else Unicode calls
// a line's end.

class LineReader {
 public:
  // Bytes of a line that are kept unless the caller says otherwise; the rest is dropped.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  static constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

  // The files inside an archive follow each other. Throws as TextSource.
  explicit LineReader(const std::filesystem::path& path, std::size_t longest = kLongestLine);

  // The next line as it is, without its end ("\n" or "\r\n") and without a byte order mark; false
  // after the last. The text is valid until the next call.
  bool next(std::string_view& line);
  // The same as valid UTF-8: malformed sequences become U+FFFD and are counted.
  bool next_text(std::string_view& line);
  // Whether the next line is not whole in memory, so that next() may wait for it: the time to write
  // what answers the lines so far.
  bool may_wait() const { return block_.find('\n') == std::string_view::npos; }

  std::int64_t number() const { return number_; }  // of the line read last, from 1
  std::int64_t files() const { return files_; }    // that lines came from
  // Throws Error (failure) where the line read last was longer than what is kept.
  void require_whole() const;
  // "FILE:NUMBER" for messages; the line after the last one read with `ahead` 1.
  std::string location(std::int64_t ahead = 0) const;
  const std::string& name() const { return source_.name(); }
  std::uint64_t raw_bytes() const { return source_.raw_bytes(); }
  // Counts what the caller replaced in the lines of next() by itself.
  void add_replaced(std::uint64_t sequences) { replaced_ += sequences; }
  std::uint64_t replaced() const { return replaced_ + source_.replaced(); }
  // Logs how many malformed sequences became U+FFFD, if any did.
  void warn_of_replaced() const;

 private:
  TextSource source_;
  std::size_t longest_;
  std::string_view block_;  // not yet read
  std::string line_;
  std::string repaired_;
  std::uint64_t replaced_ = 0;
  std::int64_t number_ = 0;
  std::int64_t files_ = 0;
  bool in_file_ = false;
  bool at_start_ = true;
  bool cut_ = false;  // the line read last

  bool fill();
};

}  // namespace roformer
