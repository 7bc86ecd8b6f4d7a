#include "report/vector_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

constexpr std::array<std::pair<std::string_view, VectorFormat>, 3> kFormats = {
    {{"npy", VectorFormat::npy}, {"jsonl", VectorFormat::jsonl}, {"tsv", VectorFormat::tsv}}};
constexpr std::size_t kHeaderBytes = 128;

static_assert(std::endian::native == std::endian::little, "the header says <f4");

}  // namespace

std::string npy_header(std::int64_t rows, std::int64_t width) {
  std::string header("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kLengthBytes = 2;
  constexpr std::size_t kRest = kHeaderBytes - 8 - kLengthBytes;
  header += static_cast<char>(kRest & 0xFF);
  header += static_cast<char>(kRest >> 8);
  header +=
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, width);
  ROFORMER_ASSERT(header.size() < kHeaderBytes);
  header.resize(kHeaderBytes - 1, ' ');
  return header + '\n';
}

VectorFormat vector_format(std::string_view word) {
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
  }
  throw_usage("--format", fmt::format("\"{}\" is none of npy, jsonl and tsv", word));
}

VectorFormat format_of_vector_file(const std::string& file) {
  if (file == "-") return VectorFormat::jsonl;
  for (const auto& [name, format] : kFormats) {
    if (file.ends_with(fmt::format(".{}", name))) return format;
  }
  throw_usage("--output", fmt::format("the name of {} ends in none of .npy, .jsonl and .tsv", file),
              "say which: --format npy");
}

void require_vector_output(const std::string& file, VectorFormat format) {
  if (file != "-" || format != VectorFormat::npy) return;
  throw_usage("--format", "a NumPy array cannot go to standard output",
              "--output FILE.npy, or --format jsonl");
}

VectorFile::VectorFile(const std::string& file, VectorFormat format, std::int64_t width)
    : format_(format), width_(width) {
  require_vector_output(file, format);
  if (file != "-") file_ = std::make_unique<AtomicFile>(InnerPath::named(file));
  if (format == VectorFormat::npy) put(npy_header(0, width));
}

VectorFile::~VectorFile() = default;

void VectorFile::put(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
  } else {
    std::cout << bytes;
  }
}

void VectorFile::write(std::string_view text, std::span<const float> vector) {
  ROFORMER_ASSERT(std::ssize(vector) == width_);
  ++rows_;
  switch (format_) {
    case VectorFormat::npy:
      return put({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()});
    case VectorFormat::jsonl:
      return put(fmt::format(
          "{{\"text\": {}, \"vector\": [{}]}}\n",
          nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          fmt::join(vector, ", ")));
    case VectorFormat::tsv:
      return put(fmt::format("{}\n", fmt::join(vector, "\t")));
  }
}

void VectorFile::commit() {
  if (!file_) {
    std::cout << std::flush;
    return;
  }
  if (format_ == VectorFormat::npy) {
    const std::string header = npy_header(rows_, width_);
    file_->write_at(0, header.data(), header.size());
  }
  file_->commit();
}

}  // namespace roformer
