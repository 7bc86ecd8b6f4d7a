#include "tensor/safetensors_header.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaximalHeader = 100'000'000;  // as the reference implementation
constexpr std::size_t kAlignment = 64;
constexpr const char* kMetadata = "__metadata__";

struct TypeRow {
  SafetensorsType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {
    {SafetensorsType::f64, "F64", 8}, {SafetensorsType::f32, "F32", 4},
    {SafetensorsType::f16, "F16", 2}, {SafetensorsType::bf16, "BF16", 2},
    {SafetensorsType::i64, "I64", 8}, {SafetensorsType::i32, "I32", 4},
    {SafetensorsType::i16, "I16", 2}, {SafetensorsType::i8, "I8", 1},
    {SafetensorsType::u8, "U8", 1},   {SafetensorsType::boolean, "BOOL", 1},
};

const TypeRow& row_of(SafetensorsType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const TypeRow& row) { return row.type == type; });
}

class HeaderParser {
 public:
  HeaderParser(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  SafetensorsHeader parse() {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (is_lfs_pointer(text)) throw_lfs_pointer(file_);
    const std::size_t length = header_length();
    SafetensorsHeader header{.data_offset = kLengthBytes + length};
    const json document = parse_json(length);
    for (const auto& [name, value] : document.items()) {
      if (name == kMetadata) {
        header.metadata = parse_metadata(value);
      } else {
        header.entries.push_back(parse_entry(name, value));
      }
    }
    check_coverage(header);
    return header;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;

  [[noreturn]] void refuse(const std::string& message) const {
    throw_failure(file_, "is not a whole safetensors file: " + message);
  }
  [[noreturn]] void refuse_tensor(const std::string& name, const std::string& message) const {
    refuse("the tensor " + printable(name) + " " + message);
  }

  std::size_t header_length() const {
    if (bytes_.size() < kLengthBytes) {
      refuse(fmt::format("it has {} bytes, the length of its header alone takes {}", bytes_.size(),
                         kLengthBytes));
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
      length |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    }
    if (length > kMaximalHeader) {
      refuse(fmt::format("its header claims {} bytes, at most {} are allowed", length,
                         kMaximalHeader));
    }
    if (length > bytes_.size() - kLengthBytes) {
      refuse(fmt::format("its header claims {} bytes, {} are there", length,
                         bytes_.size() - kLengthBytes));
    }
    return static_cast<std::size_t>(length);
  }

  json parse_json(std::size_t length) const {
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes;
    try {
      // The last of two equal names would hide a tensor.
      json document = roformer::parse_json({begin, length}, file_, RepeatedNames::refused);
      if (document.is_object()) return document;
    } catch (const Error& problem) {
      refuse("its header " + problem.parts().message);
    }
    refuse("its header is not a JSON object");
  }

  std::map<std::string, std::string> parse_metadata(const json& value) const {
    std::map<std::string, std::string> metadata;
    if (!value.is_object()) refuse("its metadata is not a JSON object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) refuse("its metadata " + printable(key) + " is not a text");
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  SafetensorsEntry parse_entry(const std::string& name, const json& value) const {
    if (!value.is_object()) refuse_tensor(name, "is not described by a JSON object");
    for (const auto& [key, field] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        refuse_tensor(name, "has an unknown field " + printable(key));
      }
    }
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!value.contains(field)) refuse_tensor(name, fmt::format("has no {}", field));
    }
    SafetensorsEntry entry{.name = name,
                           .type = parse_type(name, value["dtype"]),
                           .shape = parse_shape(name, value["shape"])};
    const json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      refuse_tensor(name, "has data_offsets that are not two non-negative integers");
    }
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > bytes_.size()) {
      refuse_tensor(name, fmt::format("lies at bytes {} to {}, outside the file", begin, end));
    }
    entry.begin = static_cast<std::size_t>(begin);
    entry.end = static_cast<std::size_t>(end);
    check_size(entry);
    return entry;
  }

  SafetensorsType parse_type(const std::string& name, const json& value) const {
    if (!value.is_string()) refuse_tensor(name, "has a dtype that is not a text");
    const auto& text = value.get_ref<const std::string&>();
    const auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const TypeRow& known) { return known.name == text; });
    if (row == std::end(kTypes)) {
      refuse_tensor(name, "has the dtype " + printable(text) +
                              "; known are F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
    }
    return row->type;
  }

  std::vector<std::int64_t> parse_shape(const std::string& name, const json& value) const {
    constexpr std::size_t kMostDimensions = 64;
    if (!value.is_array() || value.size() > kMostDimensions) {
      refuse_tensor(name, "has a shape that is not a list of at most 64 sizes");
    }
    std::vector<std::int64_t> shape;
    for (const json& size : value) {
      if (!size.is_number_unsigned() ||
          size.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
        refuse_tensor(name, "has a size that is not a non-negative integer");
      }
      shape.push_back(size.get<std::int64_t>());
    }
    return shape;
  }

  void check_size(const SafetensorsEntry& entry) const {
    std::int64_t strides = static_cast<std::int64_t>(safetensors_bytes(entry.type));
    bool empty = false;
    for (const std::int64_t size : entry.shape) {
      empty = empty || size == 0;
      // Strides of an empty tensor are computed too, and must not overflow.
      if (__builtin_mul_overflow(strides, std::max<std::int64_t>(size, 1), &strides)) {
        refuse_tensor(entry.name, "has a shape whose product overflows");
      }
    }
    const std::size_t wanted = empty ? 0 : static_cast<std::size_t>(strides);
    if (entry.end - entry.begin != wanted) {
      refuse_tensor(entry.name, fmt::format("has {} bytes, its shape and type take {}",
                                            entry.end - entry.begin, wanted));
    }
  }

  void check_coverage(SafetensorsHeader& header) const {
    std::ranges::sort(header.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::size_t covered = 0;
    for (const SafetensorsEntry& entry : header.entries) {
      if (entry.begin != covered) {
        refuse_tensor(
            entry.name,
            fmt::format("begins at byte {} of the data, {} expected (an overlap or a gap)",
                        entry.begin, covered));
      }
      covered = entry.end;
    }
    const std::size_t data = bytes_.size() - header.data_offset;
    if (covered != data) {
      refuse(fmt::format("its tensors take {} bytes, {} are there", covered, data));
    }
  }
};

}  // namespace

std::string_view safetensors_name(SafetensorsType type) {
  return row_of(type).name;
}

std::size_t safetensors_bytes(SafetensorsType type) {
  return row_of(type).bytes;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes,
                                           const std::string& file) {
  return HeaderParser(bytes, file).parse();
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) document[kMetadata] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    ROFORMER_ASSERT(entry.name != kMetadata && !document.contains(entry.name));
    document[entry.name] = {{"dtype", safetensors_name(entry.type)},
                            {"shape", entry.shape},
                            {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = document.dump();
  const std::size_t used = (kLengthBytes + text.size()) % kAlignment;
  text.append((kAlignment - used) % kAlignment, ' ');
  std::string bytes(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  }
  return bytes + text;
}

namespace {

bool is_file_name(const nlohmann::json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string::npos &&
         std::filesystem::path(name).filename() == name;
}

}  // namespace

std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::string& file) {
  const nlohmann::json index = parse_json(text, file);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw_failure(file, "is not an index of files of weights: no weight_map");
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    if (!is_file_name(shard)) {
      throw_failure(file, "names a shard for " + printable(name) + " that is not a file name");
    }
    files[name] = shard.get<std::string>();
  }
  return files;
}

}  // namespace roformer
