#include "text/sentencepiece_file.h"

#include <bit>

#include "text/message_fields.h"

namespace roformer {
namespace {

// Field numbers of sentencepiece_model.proto.
namespace model_field {
constexpr std::uint64_t kPieces = 1, kTrainer = 2, kNormalizer = 3;
}
namespace piece_field {
constexpr std::uint64_t kText = 1, kScore = 2, kType = 3;
}
namespace trainer_field {
constexpr std::uint64_t kModel = 3, kSpaceIsSuffix = 24, kByteFallback = 35;
}
namespace normalizer_field {
constexpr std::uint64_t kRules = 2, kAddsPrefix = 3, kRemovesExtraSpaces = 4, kMarksSpaces = 5;
}

// Calls action(field) for the fields of a message.
template <class Action>
void for_each_field(std::string_view message, Action action) {
  MessageFields fields(message);
  while (const std::optional<MessageField> field = fields.next()) action(*field);
}

SentencePieceFile::Piece parse_piece(std::string_view message) {
  SentencePieceFile::Piece piece;
  for_each_field(message, [&](const MessageField& field) {
    if (field.number == piece_field::kText) piece.text = field.bytes;
    if (field.number == piece_field::kScore) {
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    }
    if (field.number == piece_field::kType) piece.type = static_cast<PieceType>(field.value);
  });
  return piece;
}

}  // namespace

SentencePieceFile parse_sentencepiece_file(std::string_view contents) {
  SentencePieceFile file;
  for_each_field(contents, [&](const MessageField& part) {
    if (part.number == model_field::kPieces) file.pieces.push_back(parse_piece(part.bytes));
    for_each_field(part.bytes, [&](const MessageField& field) {
      const bool on = field.value != 0;
      if (part.number == model_field::kTrainer) {
        if (field.number == trainer_field::kModel) {
          file.model = static_cast<PieceModel>(field.value);
        }
        if (field.number == trainer_field::kSpaceIsSuffix) file.space_is_suffix = on;
        if (field.number == trainer_field::kByteFallback) file.byte_fallback = on;
      } else if (part.number == model_field::kNormalizer) {
        if (field.number == normalizer_field::kRules) file.rules = field.bytes;
        if (field.number == normalizer_field::kAddsPrefix) file.adds_prefix = on;
        if (field.number == normalizer_field::kRemovesExtraSpaces) file.removes_extra_spaces = on;
        if (field.number == normalizer_field::kMarksSpaces) file.marks_spaces = on;
      }
    });
  });
  return file;
}

}  // namespace roformer
