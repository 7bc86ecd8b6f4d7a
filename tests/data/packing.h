// Compressed files and archives, made where they are tested, so that each can be damaged.
#pragma once

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.h"

namespace roformer {

inline std::string gzipped(std::string_view text) {
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return packed;
}

inline std::string bzipped(std::string_view text) {
  std::string packed(text.size() + text.size() / 50 + 1024, '\0');
  auto size = static_cast<unsigned int>(packed.size());
  REQUIRE(::BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()),
                                     static_cast<unsigned int>(text.size()), 1, 0, 0) == BZ_OK);
  packed.resize(size);
  return packed;
}

inline std::string xzipped(std::string_view text) {
  std::string packed(::lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  REQUIRE(::lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(packed.data()), &size,
                                    packed.size()) == LZMA_OK);
  packed.resize(size);
  return packed;
}

// In two calls, so that the window is as long as is said, whatever the text's length.
inline std::string zstandard(std::string_view text, int window = 20) {
  ZSTD_CCtx* const context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window);
  std::string packed(::ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer none{text.data(), 0, 0};
  ::ZSTD_compressStream2(context, &out, &none, ZSTD_e_flush);
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  REQUIRE(::ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  ::ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

struct Packing {
  const char* ending;
  std::string (*pack)(std::string_view text);
};
inline const std::vector<Packing> kPackings = {
    {"gz", gzipped}, {"bz2", bzipped}, {"xz", xzipped}, {"zst", [](std::string_view text) {
                                                           return zstandard(text);
                                                         }}};

using Members = std::vector<std::pair<std::string, std::string>>;

// One file of a tar (POSIX ustar), its data filled up to a block; with `link` a hard link.
inline std::string tar_member(const std::string& name, const std::string& contents,
                              const std::string& link = "") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, fmt::format("{:07o}", 0644));
  header.replace(124, 11, fmt::format("{:011o}", contents.size()));
  header.replace(136, 11, fmt::format("{:011o}", 0));
  header.replace(148, 8, "        ");
  header[156] = link.empty() ? '0' : '1';
  header.replace(157, link.size(), link);
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  unsigned int sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}

inline std::string tar_of(const Members& members) {
  std::string tar;
  for (const auto& [name, contents] : members) tar += tar_member(name, contents);
  return tar + std::string(1024, '\0');
}

}  // namespace roformer
