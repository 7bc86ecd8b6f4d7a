// Decompressors of gzip (RFC 1952), bzip2, xz and Zstandard streams, from libraries that compare
// the checksums. ByteSource decides what may follow the end of a stream.
#pragma once

#include <array>
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
  std::string problem;    // why it stopped
  // The file needs more memory than an untrusted file may have. This command unpacks it.
  std::string command;
};

class Codec {
 public:
  virtual ~Codec() = default;
  // Whether another stream may begin with this byte.
  virtual bool may_begin(char byte) const = 0;
  // Begins another stream.
  virtual void begin() = 0;
  // Neither takes nor makes anything if it needs more input.
  virtual CodecStep step(std::string_view input, std::span<char> output) = 0;
};

struct CodecLimits {
  int zstd_window;          // log2 of bytes
  std::uint64_t xz_memory;  // bytes
};
// The longest windows that Zstandard has (2 GiB), if they are a small part of the free memory.
CodecLimits codec_limits(std::uint64_t free_memory);

// The first bytes of each packed format, Parquet (parquet.h) among them.
using std::string_view_literals::operator""sv;
inline constexpr std::string_view kGzipBegin = "\x1f\x8b"sv;
inline constexpr std::string_view kBzip2Begin = "BZh"sv;
inline constexpr std::string_view kXzBegin = "\xfd\x37zXZ\0"sv;
inline constexpr std::string_view kZstdBegin = "\x28\xb5\x2f\xfd"sv;
inline constexpr std::string_view kZipBegin = "PK\3\4"sv;
inline constexpr std::array kPackedBegins = {kGzipBegin, kBzip2Begin, kXzBegin,
                                             kZstdBegin, kZipBegin,   "PAR1"sv};
constexpr std::size_t kCodecBegin = kXzBegin.size();  // the longest that codec_of compares

// Chooses the codec by the first bytes of a file; null if they begin no compressed stream. Without
// given limits, uses the limits for the memory that is free now.
std::unique_ptr<Codec> codec_of(std::string_view begin,
                                std::optional<CodecLimits> given = std::nullopt);

}  // namespace roformer
