#include "data/codec.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <climits>

#include "base/error.h"
#include "base/memory.h"

namespace roformer {
namespace {

constexpr int kShortestZstdWindow = 27;  // the limit of Zstandard's default settings
constexpr int kLongestZstdWindow = 31;
constexpr std::uint64_t kWindowShare = 4;  // the divisor of the free memory
constexpr std::uint64_t kMostXzMemory = std::uint64_t{1} << 30;

// C libraries count bytes with this type.
unsigned int as_count(std::size_t size) {
  return static_cast<unsigned int>(std::min<std::size_t>(size, INT_MAX));
}

class GzipCodec : public Codec {
 public:
  GzipCodec() {
    constexpr int kFormat = 16 + MAX_WBITS;  // only gzip
    ROFORMER_ASSERT(::inflateInit2(&stream_, kFormat) == Z_OK);
  }
  ~GzipCodec() override { ::inflateEnd(&stream_); }

  bool may_begin(char byte) const override { return byte == '\x1f'; }
  void begin() override { ::inflateReset(&stream_); }
  CodecStep step(std::string_view input, std::span<char> output) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = as_count(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(output.data());
    stream_.avail_out = as_count(output.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    CodecStep step{.taken = as_count(input.size()) - stream_.avail_in,
                   .made = as_count(output.size()) - stream_.avail_out,
                   .ended = status == Z_STREAM_END};
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      step.problem = stream_.msg != nullptr ? stream_.msg : "no gzip";
    }
    return step;
  }

 private:
  z_stream stream_{};
};

class Bzip2Codec : public Codec {
 public:
  Bzip2Codec() { open(); }
  ~Bzip2Codec() override { ::BZ2_bzDecompressEnd(&stream_); }

  bool may_begin(char byte) const override { return byte == 'B'; }
  void begin() override {
    ::BZ2_bzDecompressEnd(&stream_);
    open();
  }
  CodecStep step(std::string_view input, std::span<char> output) override {
    stream_.next_in = const_cast<char*>(input.data());
    stream_.avail_in = as_count(input.size());
    stream_.next_out = output.data();
    stream_.avail_out = as_count(output.size());
    const int status = ::BZ2_bzDecompress(&stream_);
    CodecStep step{.taken = as_count(input.size()) - stream_.avail_in,
                   .made = as_count(output.size()) - stream_.avail_out,
                   .ended = status == BZ_STREAM_END};
    if (status == BZ_DATA_ERROR_MAGIC) {
      step.problem = "no bzip2";
    } else if (status != BZ_OK && status != BZ_STREAM_END) {
      step.problem = status == BZ_MEM_ERROR ? "not enough memory" : "its checksum differs";
    }
    return step;
  }

 private:
  bz_stream stream_{};

  void open() {
    stream_ = {};
    ROFORMER_ASSERT(::BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK);
  }
};

class XzCodec : public Codec {
 public:
  explicit XzCodec(std::uint64_t memory) : memory_(memory) {}
  ~XzCodec() override { ::lzma_end(&stream_); }

  bool may_begin(char byte) const override { return byte == '\xfd'; }
  void begin() override {
    ROFORMER_ASSERT(::lzma_stream_decoder(&stream_, memory_, LZMA_TELL_UNSUPPORTED_CHECK) ==
                    LZMA_OK);
  }
  CodecStep step(std::string_view input, std::span<char> output) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    stream_.avail_in = input.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
    stream_.avail_out = output.size();
    const lzma_ret status = ::lzma_code(&stream_, LZMA_RUN);
    CodecStep step{.taken = input.size() - stream_.avail_in,
                   .made = output.size() - stream_.avail_out,
                   .ended = status == LZMA_STREAM_END};
    if (status == LZMA_MEMLIMIT_ERROR) {
      step.problem = fmt::format("it takes {} MiB of memory", ::lzma_memusage(&stream_) >> 20);
      step.command = "xz -d -k";
    } else if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR) {
      step.problem = reason(status);
    }
    return step;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint64_t memory_;

  static const char* reason(lzma_ret status) {
    switch (status) {
      case LZMA_FORMAT_ERROR:
        return "no xz";
      case LZMA_MEM_ERROR:
        return "not enough memory";
      case LZMA_OPTIONS_ERROR:
      case LZMA_UNSUPPORTED_CHECK:
        return "a form of xz that is not known";
      default:
        return "a checksum differs";
    }
  }
};

class ZstdCodec : public Codec {
 public:
  explicit ZstdCodec(int window) : window_(window) {
    ROFORMER_ASSERT(context_ != nullptr);
    ROFORMER_ASSERT(
        !ZSTD_isError(::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_)));
  }

  // Skippable frames begin with 0x50 to 0x5f: pzstd writes one before each frame.
  static bool may_begin_with(char byte) { return byte == '\x28' || (byte & '\xf0') == '\x50'; }
  bool may_begin(char byte) const override { return may_begin_with(byte); }
  void begin() override { ::ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only); }
  CodecStep step(std::string_view input, std::span<char> output) override {
    ZSTD_inBuffer in{.src = input.data(), .size = input.size(), .pos = 0};
    ZSTD_outBuffer out{.dst = output.data(), .size = output.size(), .pos = 0};
    const std::size_t status = ::ZSTD_decompressStream(context_.get(), &out, &in);
    CodecStep step{.taken = in.pos, .made = out.pos, .ended = status == 0};
    if (!ZSTD_isError(status)) return step;
    step.problem = ::ZSTD_getErrorName(status);
    if (::ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
      step.problem =
          fmt::format("its window is longer than {} MiB", (std::uint64_t{1} << window_) >> 20);
      step.command = fmt::format("zstd -d --long={}", kLongestZstdWindow);
    }
    return step;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context_{::ZSTD_createDCtx(),
                                                                  &::ZSTD_freeDCtx};
  int window_;
};

}  // namespace

CodecLimits codec_limits(std::uint64_t free_memory) {
  int window = kShortestZstdWindow;
  while (window < kLongestZstdWindow &&
         (std::uint64_t{2} << window) <= free_memory / kWindowShare) {
    ++window;
  }
  return {.zstd_window = window, .xz_memory = kMostXzMemory};
}

std::unique_ptr<Codec> codec_of(std::string_view begin, std::optional<CodecLimits> given) {
  const auto limits = [&] { return given.value_or(codec_limits(available_memory())); };
  if (begin.starts_with(kGzipBegin)) return std::make_unique<GzipCodec>();
  if (begin.starts_with(kBzip2Begin) && begin.size() > 3 && begin[3] >= '1' && begin[3] <= '9') {
    return std::make_unique<Bzip2Codec>();
  }
  if (begin.starts_with(kXzBegin)) return std::make_unique<XzCodec>(limits().xz_memory);
  const bool frame = begin.starts_with(kZstdBegin);
  const bool skipped = !begin.empty() && ZstdCodec::may_begin_with(begin.front()) &&
                       begin.substr(1).starts_with("\x2a\x4d\x18");
  if (frame || skipped) return std::make_unique<ZstdCodec>(limits().zstd_window);
  return nullptr;
}

}  // namespace roformer
