#include "text/byte_tokenizer.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace roformer {
namespace {

constexpr TokenId kBytes = 256;
constexpr std::array<const char*, 4> kBytesSpecialPieces = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"};
constexpr TokenId kVocabulary = kBytes + static_cast<TokenId>(kBytesSpecialPieces.size());

class ByteTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }

  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    text.reserve(ids.size());
    for (const TokenId id : ids) {
      ROFORMER_ASSERT(id >= 0 && id < kVocabulary);
      if (id < kBytes) {
        text += static_cast<char>(id);
      } else if (with_special) {
        text += piece(id);
      }
    }
    return text;
  }

  std::int64_t vocabulary_size() const override { return kVocabulary; }

  // Printable ASCII as itself, any other byte as <0xNN>.
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < kVocabulary);
    if (id >= kBytes) return kBytesSpecialPieces[static_cast<std::size_t>(id - kBytes)];
    if (id > ' ' && id < 0x7f) return std::string(1, static_cast<char>(id));
    return fmt::format("<0x{:02X}>", id);
  }

  const SpecialTokens& special() const override { return special_; }
  // White space opens the word that follows it, as U+2581 does in SentencePiece.
  bool begins_word(TokenId id) const override {
    return id == ' ' || (id >= '\t' && id <= '\r') || id >= kBytes;
  }
  bool keeps_line_ends() const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::bytes; }
  const std::string& file_contents() const override { return no_file_; }
  std::string description() const override { return "bytes"; }

 private:
  SpecialTokens special_{
      .padding = 256, .unknown = -1, .classification = 257, .separator = 258, .mask = 259};
  std::string no_file_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace roformer
