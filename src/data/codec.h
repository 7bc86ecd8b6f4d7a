// One decompressor of gzip (RFC 1952), bzip2, xz or Zstandard streams, each from a library whose
// checksums are compared. CompressedFile decides what may follow the end of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace roformer {

struct CodecStep {
  std::size_t taken = 0;  // bytes of the input
  std::size_t made = 0;   // bytes of the output
  bool ended = false;     // the stream, with its checksum
  std::string problem;    // why it cannot go on
  // Only more memory than is given to a stranger's file would do: this command unpacks it.
  std::string command;
};

class Codec {
 public:
  virtual ~Codec() = default;
  // Whether another stream may begin with this byte.
  virtual bool may_begin(char byte) const = 0;
  // Begins another stream.
  virtual void begin() = 0;
  // Neither takes nor makes anything where it needs more input.
  virtual CodecStep step(std::string_view input, std::span<char> output) = 0;
};

struct CodecLimits {
  int zstd_window;          // log2 of bytes
  std::uint64_t xz_memory;  // bytes
};
// Windows as long as Zstandard has them (2 GiB), where they are a small part of the free memory.
CodecLimits codec_limits(std::uint64_t free_memory);

// The longest beginning that codec_of compares.
constexpr std::size_t kCodecBegin = 6;

// By the first bytes of a file; null where they are no compressed stream's. Without limits those
// of the memory that is free now.
std::unique_ptr<Codec> codec_of(std::string_view begin,
                                std::optional<CodecLimits> given = std::nullopt);

// The bytes in a compressed file, stream after stream: every byte of the file belongs to a whole
// stream whose checksum is right, or is a zero after the last (tapes are filled up with them).

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
