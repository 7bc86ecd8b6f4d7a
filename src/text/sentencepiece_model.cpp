#include "text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>

#include "text/message_fields.h"
#include "text/normalization_map.h"

// libsentencepiece defines this name as an object of 32 bytes and LibTorch's libc10 as an int. If
// the int wins the name, as the order of the libraries decides, libsentencepiece writes over the
// flag after it, which turns every failed allocation into an abort. The program's definition wins
// over both and has room for either.
alignas(64) unsigned char FLAGS_minloglevel[256];

namespace roformer {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr std::uint64_t kNormalizer = 3, kDenormalizer = 5;  // of ModelProto
constexpr std::uint64_t kPrecompiledMap = 2;                 // of NormalizerSpec

bool is_safe_map(std::string_view map) {
  if (map.empty()) return true;
  std::optional<NormalizationMap> rules = NormalizationMap::of(map);
  return rules && rules->is_safe();
}

// Calls action(table of rules) for the normalisers with these field numbers.
template <class Action>
void for_each_map(std::string_view model, std::initializer_list<std::uint64_t> specifications,
                  Action action) {
  MessageFields fields(model);
  while (const std::optional<MessageField> field = fields.next()) {
    if (std::ranges::find(specifications, field->number) == specifications.end()) continue;
    MessageFields specification(field->bytes);
    while (const std::optional<MessageField> part = specification.next()) {
      if (part->number == kPrecompiledMap && part->has_bytes) action(part->bytes);
    }
  }
}

}  // namespace

bool has_safe_normalization(std::string_view model) {
  bool safe = true;
  for_each_map(model, {kNormalizer, kDenormalizer},
               [&](std::string_view map) { safe = safe && is_safe_map(map); });
  return safe;
}

bool normalization_reaches_over_spaces(std::string_view model) {
  bool reaches = false;
  for_each_map(model, {kNormalizer}, [&](std::string_view map) {
    std::optional<NormalizationMap> rules = NormalizationMap::of(map);
    reaches =
        reaches || (!map.empty() && !(rules && rules->is_safe() && !rules->reaches_over_spaces()));
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
