// The text in a gzip file (RFC 1952), member after member, with the checksum and the length of each
// compared: libarchive, which reads every other kind of corpus, skips them.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

class GzipStream {
 public:
  // The descriptor stays the caller's. `begun` was read from it already.
  GzipStream(int descriptor, std::string begun);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  static bool is_gzip(std::string_view begin) { return begin.starts_with("\x1f\x8b"); }

  // The next bytes, valid until the next call; empty at the end, and where error() says why.
  std::string_view read();
  const std::string& error() const { return error_; }
  // Bytes taken from the file so far.
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  int descriptor_;
  z_stream stream_{};
  std::string input_;
  std::string output_;
  std::string error_;
  std::uint64_t raw_bytes_ = 0;
  bool between_members_ = true;
  bool first_member_ = true;

  bool fill();
  bool begin_member();
};

}  // namespace roformer
