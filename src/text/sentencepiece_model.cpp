#include "text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>

#include "text/normalization_map.h"

// libsentencepiece defines this name as an object of 32 bytes and LibTorch's libc10 as an int. If
// the int wins the name, as the order of the libraries decides, libsentencepiece writes over the
// flag behind it, which turns every failed allocation into an abort. The program's definition wins
// over both and has room for either.
alignas(64) unsigned char FLAGS_minloglevel[256];

namespace roformer {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr std::uint64_t kNormalizer = 3, kDenormalizer = 5;  // of ModelProto
constexpr std::uint64_t kPrecompiledMap = 2;                 // of NormalizerSpec

// The fields of a serialised message, in order.
class MessageFields {
 public:
  explicit MessageFields(std::string_view message) : rest_(message) {}

  // The next field of bytes, with its number in `number`. Empty at the end or at damage.
  std::optional<std::string_view> next(std::uint64_t& number) {
    while (!rest_.empty()) {
      const std::optional<std::uint64_t> read = varint();
      if (!read) return std::nullopt;
      const auto tag = static_cast<std::uint32_t>(*read);  // as protobuf cuts it
      number = tag >> 3;
      const std::uint32_t type = tag & 7;
      if (type == 2) {
        const std::optional<std::uint64_t> size = varint();
        return size ? taken(*size) : std::nullopt;
      }
      const bool group_end = type == 3 || type == 4;  // its fields are read like those around it
      const bool skipped =
          type == 0 ? varint().has_value() : (type == 1 && taken(8)) || (type == 5 && taken(4));
      if (!group_end && !skipped) return std::nullopt;
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

// Calls action(table of rules) for the normalisers with these field numbers.
template <class Action>
void for_each_map(std::string_view model, std::initializer_list<std::uint64_t> specifications,
                  Action action) {
  std::uint64_t number = 0;
  MessageFields fields(model);
  while (const std::optional<std::string_view> field = fields.next(number)) {
    if (std::ranges::find(specifications, number) == specifications.end()) continue;
    MessageFields specification(*field);
    while (const std::optional<std::string_view> part = specification.next(number)) {
      if (number == kPrecompiledMap) action(*part);
    }
  }
}

}  // namespace

bool has_safe_normalization(std::string_view model) {
  bool safe = true;
  for_each_map(model, {kNormalizer, kDenormalizer},
               [&](std::string_view map) { safe = safe && NormalizationMap::read(map); });
  return safe;
}

bool normalization_reaches_over_spaces(std::string_view model) {
  bool reaches = false;
  for_each_map(model, {kNormalizer}, [&](std::string_view map) {
    const std::optional<NormalizationMap> rules = NormalizationMap::read(map);
    reaches = reaches || !rules || rules->reaches_over_spaces();
  });
  return reaches;
}

std::string load_sentencepiece(sentencepiece::SentencePieceProcessor& processor,
                               std::string_view contents) {
  if (!has_safe_normalization(contents)) return "damaged: its rules of normalisation";
  try {
    const auto status = processor.LoadFromSerializedProto(contents);
    if (status.ok()) return {};
    return status.message()[0] == '\0' ? "damaged" : status.message();
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace roformer
