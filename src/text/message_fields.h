// The fields of a serialised protobuf message, the format of SentencePiece's models, in the order
// in which they are written. Trusts nothing in the message: reading ends at the first damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roformer {

struct MessageField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a field with a number: its bits
  std::string_view bytes;   // of a text or a message; points into the message
  bool has_bytes = false;
};

class MessageFields {
 public:
  explicit MessageFields(std::string_view message) : rest_(message) {}

  // Empty at the end or at damage.
  std::optional<MessageField> next() {
    while (!rest_.empty()) {
      const std::optional<std::uint64_t> read = varint();
      if (!read) return std::nullopt;
      const auto tag = static_cast<std::uint32_t>(*read);  // as protobuf cuts it
      MessageField field{.number = tag >> 3};
      const std::uint32_t type = tag & 7;
      if (type == 3 || type == 4) continue;  // a group: its fields are read like those around it
      std::optional<std::uint64_t> value;
      if (type == 0 || type == 2) value = varint();
      if (type == 1) value = fixed(8);
      if (type == 5) value = fixed(4);
      if (!value) return std::nullopt;
      field.value = *value;
      if (type != 2) return field;
      const std::optional<std::string_view> bytes = taken(*value);
      if (!bytes) return std::nullopt;
      field.bytes = *bytes;
      field.has_bytes = true;
      return field;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;

  std::optional<std::string_view> taken(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // A number of so many bytes, the lowest first.
  std::optional<std::uint64_t> fixed(int size) {
    const std::optional<std::string_view> bytes = taken(static_cast<std::uint64_t>(size));
    if (!bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>((*bytes)[static_cast<std::size_t>(i)]);
    }
    return value;
  }
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::optional<std::string_view> byte = taken(1);
      if (!byte) return std::nullopt;
      const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(byte->front()));
      value |= (bits & 0x7f) << shift;
      if (bits < 0x80) return value;
    }
    return std::nullopt;
  }
};

}  // namespace roformer
