#include "data/gzip_stream.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

constexpr std::size_t kInflateBytes = 1 << 18;
constexpr int kGzipWindow = 16 + MAX_WBITS;  // the format and nothing else

}  // namespace

GzipStream::GzipStream(int descriptor, std::string begun)
    : descriptor_(descriptor), input_(std::move(begun)), output_(kInflateBytes, '\0') {
  raw_bytes_ = input_.size();
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(input_.size());
  ROFORMER_ASSERT(::inflateInit2(&stream_, kGzipWindow) == Z_OK);
}

GzipStream::~GzipStream() {
  ::inflateEnd(&stream_);
}

// False at the end of the file, and where it cannot be read.
bool GzipStream::fill() {
  if (stream_.avail_in > 0) return true;
  input_.resize(kInflateBytes);
  ssize_t size = 0;
  do {
    size = ::read(descriptor_, input_.data(), input_.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) error_ = system_message(errno);
  if (size <= 0) return false;
  raw_bytes_ += static_cast<std::uint64_t>(size);
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(size);
  return true;
}

// After the end of a member: another one, or zeros up to the end, as tapes are filled up with.
bool GzipStream::begin_member() {
  constexpr Bytef kFirst = 0x1f;
  while (fill()) {
    if (*stream_.next_in == kFirst || first_member_) {
      first_member_ = false;
      between_members_ = false;
      return true;
    }
    if (*stream_.next_in != 0) {
      error_ = "the compressed data are damaged: something else after their end";
      return false;
    }
    ++stream_.next_in;
    --stream_.avail_in;
  }
  return false;
}

std::string_view GzipStream::read() {
  for (;;) {
    if (between_members_) {
      if (!begin_member()) return {};
      ::inflateReset(&stream_);
    }
    if (!fill()) {
      if (error_.empty()) error_ = "the compressed data are truncated";
      return {};
    }
    stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
    stream_.avail_out = static_cast<uInt>(output_.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      error_ = "the compressed data are damaged: ";
      error_ += stream_.msg != nullptr ? stream_.msg : "no gzip";
      return {};
    }
    between_members_ = status == Z_STREAM_END;
    const std::size_t size = output_.size() - stream_.avail_out;
    if (size > 0) return std::string_view(output_).substr(0, size);
  }
}

}  // namespace roformer
