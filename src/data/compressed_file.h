// The bytes in a compressed file, stream after stream: every byte of the file belongs to a whole
// stream whose checksum is right, or is a zero after the last (tapes are filled up with them).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/codec.h"

namespace roformer {

class CompressedFile {
 public:
  // The descriptor stays the caller's. `begun` was read from it already.
  CompressedFile(int descriptor, std::string begun, std::unique_ptr<Codec> codec);

  // The next bytes, valid until the next call; empty at the end, and where error() says why.
  std::string_view read();
  const std::string& error() const { return error_; }
  // The command that unpacks what is not damaged and takes too much memory here, or "".
  const std::string& command() const { return command_; }
  // Bytes taken from the file so far.
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  int descriptor_;
  std::unique_ptr<Codec> codec_;
  std::string input_;
  std::string_view pending_;  // of the input
  std::string output_;
  std::string error_;
  std::string command_;
  std::uint64_t raw_bytes_ = 0;
  bool first_stream_ = true;
  bool in_stream_ = false;
  bool output_was_full_ = false;  // so that more may come without more input

  bool fill();
  bool begin_stream();
};

}  // namespace roformer
