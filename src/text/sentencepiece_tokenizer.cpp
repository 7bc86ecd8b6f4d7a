#include "text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "text/marked_words.h"
#include "text/sentencepiece_model.h"
#include "text/sentencepiece_splitter.h"
#include "text/vocabulary_tokenizer.h"
#include "text/word_cache.h"

namespace roformer {
namespace {

class SentencePieceTokenizer final : public VocabularyTokenizer {
 public:
  SentencePieceTokenizer(std::string contents, const std::string& location)
      : VocabularyTokenizer(TokenizerKind::sentencepiece, std::move(contents)) {
    const std::string problem = load_sentencepiece(processor_, file_contents());
    if (!problem.empty()) throw_failure(location, "is not a SentencePiece model: " + problem);
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      pieces_.push_back(processor_.IdToPiece(id));
    }
    special_ = {.padding = processor_.pad_id(),
                .unknown = unknown_id(),
                .classification = processor_.bos_id(),
                .separator = processor_.eos_id(),
                .mask = -1};
    for (const char* name : {"[MASK]", "<mask>"}) {
      const int id = processor_.PieceToId(name);
      if (special_.mask < 0 && id != special_.unknown) special_.mask = id;
    }
    words_are_independent_ = find_words_independent();
    for (TokenId id = 0; id < vocabulary_size(); ++id) {
      if (!is_special(id) && !processor_.IsControl(id)) continue;
      named_.insert({.content = piece(id), .id = id, .special = true});
    }
  }

  // The library writes runs of ordinary pieces; this function writes the special tokens between
  // them.
  std::string decode(std::span<const TokenId> ids, bool with_special) const override {
    std::string text;
    std::vector<int> run;
    const auto finish_run = [&] {
      if (run.empty()) return;
      std::string part;
      const auto status = processor_.Decode(run, &part);
      ROFORMER_ASSERT(status.ok());
      if (!text.empty() && begins_word(run.front())) text += ' ';
      text += part;
      run.clear();
    };
    for (const TokenId id : ids) {
      ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
      if (!is_special(id) || id == special_.unknown) {
        run.push_back(id);
      } else if (with_special) {
        finish_run();
        if (!text.empty()) text += ' ';
        text += piece(id);
      }
    }
    finish_run();
    return text;
  }

  bool begins_word(TokenId id) const override {
    return pieces_[index_of(id)].starts_with(kSpaceMarker);
  }
  void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const override {
    Tokenizer::find_words(ids, begins);
    find_marked_words(
        [&](std::size_t i) -> const std::string& { return pieces_[index_of(ids[i])]; },
        kSpaceMarker, begins);
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  AddedTokens named_;  // special ones
  bool words_are_independent_ = false;
  mutable WordCachePool caches_;
  // The model without the space that it puts before every text. Made on first use.
  mutable std::once_flag has_further_;
  mutable sentencepiece::SentencePieceProcessor further_;
  // For long texts; nullptr for some models. Made on first use.
  mutable std::once_flag has_splitter_;
  mutable std::unique_ptr<SentencePieceSplitter> splitter_;

  void encode_text(std::string_view text, SpecialNames names,
                   std::vector<TokenId>& ids) const override {
    if (names == SpecialNames::letters) return encode_words(text, ids);
    bool begun = false;
    named_.split(
        text, names,
        [&](std::string_view part) { begun ? encode_further(part, ids) : encode_words(part, ids); },
        [&](TokenId id) {
          ids.push_back(id);
          begun = true;
        });
  }

  void encode_words(std::string_view text, std::vector<TokenId>& ids) const {
    // A marker in the text itself is a space to the library, but not for splitting here.
    if (!words_are_independent_ || text.find(kSpaceMarker) != std::string_view::npos) {
      return encode_directly(processor_, text, ids);
    }
    WordCachePool::Lease cache(caches_);
    for (std::size_t position = 0; position < text.size();) {
      const std::size_t end = std::min(text.find(' ', position), text.size());
      const std::string_view word = text.substr(position, end - position);
      position = end + 1;
      if (word.empty()) continue;
      (*cache).append(word, ids, [&] { encode_directly(processor_, word, ids); });
    }
  }

  // The library's unk_id() looks up the unknown piece by its name in the model, and finds none if
  // another piece has that name. Encoding gives the piece of this type.
  TokenId unknown_id() const {
    int id = 0;
    while (id < processor_.GetPieceSize() && !processor_.IsUnknown(id)) ++id;
    ROFORMER_ASSERT(id < processor_.GetPieceSize());  // the library loads no model without one
    return id;
  }

  // In Llama's models a text continues after a special token: no space is put before it, and an
  // existing space is kept. Models that drop spaces at the beginning of a text, such as those
  // trained here, have no other mark for the beginning of a word.
  void encode_further(std::string_view text, std::vector<TokenId>& ids) const {
    std::vector<int> with, without;
    const bool keeps_spaces = processor_.Encode(" a", &with).ok() &&
                              processor_.Encode("a", &without).ok() && with != without;
    if (!keeps_spaces) return encode_words(text, ids);
    std::call_once(has_further_, [&] {
      // A later field replaces an earlier one: normalizer_spec.add_dummy_prefix, false.
      constexpr std::string_view kNoPrefix("\x1a\x02\x18\x00", 4);
      const std::string problem =
          load_sentencepiece(further_, file_contents() + std::string(kNoPrefix));
      if (!problem.empty()) throw_failure("SentencePiece", problem);
    });
    encode_directly(further_, text, ids);
  }

  void encode_directly(const sentencepiece::SentencePieceProcessor& processor,
                       std::string_view text, std::vector<TokenId>& ids) const {
    std::vector<int> found;
    if (!split_long(text, /*continues=*/&processor == &further_, found)) {
      const auto status = processor.Encode(text, &found);
      if (!status.ok()) throw_failure("SentencePiece", status.message());
    }
    for (const int id : found) {
      // A foreign model may list its mask as user-defined, which the library finds in text.
      ids.push_back(is_special(id) ? special_.unknown : id);
    }
  }

  // False for texts that the library splits fast enough, and for what it alone can split.
  bool split_long(std::string_view text, bool continues, std::vector<int>& ids) const {
    constexpr std::size_t kLong = 1000;  // bytes
    if (text.size() < kLong || text.find('\0') != std::string_view::npos) return false;
    std::call_once(has_splitter_, [&] { splitter_ = SentencePieceSplitter::of(file_contents()); });
    if (splitter_) splitter_->split(text, continues, ids);
    return splitter_ != nullptr;
  }

  // Words can be split one by one if each gets a leading marker, a space always becomes that
  // marker, and no piece and no rule of normalisation crosses a space.
  bool find_words_independent() const {
    if (normalization_reaches_over_spaces(file_contents())) return false;
    for (TokenId id = 0; id < vocabulary_size(); ++id) {
      const std::string& piece = pieces_[index_of(id)];
      if (processor_.IsControl(id) || processor_.IsUnknown(id)) continue;
      if (piece.find(' ') != std::string::npos) return false;
      if (piece.find(kSpaceMarker, 1) != std::string::npos) return false;
    }
    // A marker that is unknown would be joined to unknown neighbours across words.
    const int marker = processor_.PieceToId(std::string(kSpaceMarker));
    if (marker == special_.unknown) return false;
    // Tests the model itself to find how it treats spaces.
    std::vector<std::string> pieces;
    const auto first_marker = [&](std::string_view text) {
      pieces.clear();
      if (!processor_.Encode(text, &pieces).ok() || pieces.empty()) return false;
      std::string joined;
      for (const std::string& piece : pieces) joined += piece;
      return joined == std::string(kSpaceMarker) + "a" + std::string(kSpaceMarker) + "a";
    };
    return first_marker("  a   a  ");
  }
};

}  // namespace

bool is_sentencepiece_model(std::string_view contents) {
  sentencepiece::SentencePieceProcessor processor;
  return load_sentencepiece(processor, contents).empty();
}

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(std::string contents,
                                                        const std::string& location) {
  return std::make_unique<SentencePieceTokenizer>(std::move(contents), location);
}

}  // namespace roformer
