// The text of a file or of standard input, for the reader of lines: decompressed, UTF-16 that
// begins with its mark decoded, and what is no text refused. Standard input is handed on as it
// arrives, so that a program that writes a line can wait for its answer.
#pragma once

#include <cstdint>
#include <filesystem>
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

}  // namespace roformer
