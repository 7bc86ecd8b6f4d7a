#include "text/sentencepiece_loading.h"

#include <sentencepiece_processor.h>

#include <exception>

#include "text/normalization_map.h"

namespace roformer {

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
