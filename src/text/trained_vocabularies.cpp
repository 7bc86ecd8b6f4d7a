#include "text/trained_vocabularies.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/byte_level_tokenizer.h"
#include "text/byte_pair_training.h"
#include "text/hugging_face_parts.h"
#include "text/utf8.h"
#include "text/wordpiece_tokenizer.h"

namespace roformer {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLocation = "trained vocabulary";
constexpr std::size_t kSpecialTokens = 5;

std::vector<std::string> special_of(const VocabularyTraining& training) {
  std::vector<std::string> special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  special.insert(special.end(), training.special.begin(), training.special.end());
  return special;
}

std::vector<AddedToken> added_of(const std::vector<std::string>& special, std::size_t first) {
  std::vector<AddedToken> added;
  for (std::size_t id = first; id < special.size(); ++id) {
    added.push_back({.content = special[id], .id = static_cast<TokenId>(id), .special = true});
  }
  return added;
}

// Words that follow each other without anything between them.
struct JoinedWords {
  std::string text;
  std::vector<std::size_t> ends;
};

// The words that BERT cuts a text into. False if a table of code points cannot tell.
bool cut_by_table(const BertNormalization& normalization, std::string_view text,
                  JoinedWords& words) {
  using Role = BertNormalization::Role;
  const auto finish = [&] {
    const std::size_t begin = words.ends.empty() ? 0 : words.ends.back();
    if (words.text.size() > begin) words.ends.push_back(words.text.size());
  };
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    const BertNormalization::Entry& entry = normalization.entry(next_code_point(text, position));
    if (entry.role == Role::dropped) continue;
    if (entry.role == Role::plain) return false;
    if (entry.role != Role::letter) finish();
    if (entry.role == Role::space) continue;
    words.text += normalization.written(entry, text.substr(start, position - start));
    if (entry.role == Role::punctuation) finish();
  }
  finish();
  return true;
}

}  // namespace

WordPieceTrainer::WordPieceTrainer(bool cased)
    : normalization_(cased ? BertNormalization::cased() : BertNormalization::uncased()),
      cased_(cased) {}

void WordPieceTrainer::add(std::string_view line) {
  const ValidText valid(line);
  JoinedWords words;
  if (!cut_by_table(normalization_, valid.text, words)) {
    for (const std::string& word : normalization_.plain_words(valid.text)) words_.add(word);
    return;
  }
  std::size_t begin = 0;
  for (const std::size_t end : words.ends) {
    words_.add(std::string_view(words.text).substr(begin, end - begin));
    begin = end;
  }
}

std::unique_ptr<Tokenizer> WordPieceTrainer::train(const VocabularyTraining& training) const {
  const std::vector<std::string> special = special_of(training);
  const TrainedPieces trained =
      train_byte_pairs(words_, {.pieces = training.pieces,
                                .min_frequency = training.min_frequency,
                                .most_characters = training.most_characters,
                                .special = special,
                                .continuation = std::string(kContinuation),
                                .progress = training.progress});
  WordPieceModel model{.vocabulary = {}, .rules = cased_ ? kCasedBert : kUncasedBert, .added = {}};
  for (const std::string& piece : trained.pieces) model.vocabulary += piece + "\n";
  model.added = added_of(special, kSpecialTokens);
  return make_wordpiece_tokenizer(
      {.contents = wordpiece_contents(model), .cased = cased_, .location = kLocation});
}

ByteLevelTrainer::ByteLevelTrainer() : pattern_(kGpt2Pattern, kLocation) {}

void ByteLevelTrainer::add(std::string_view line) {
  const std::string ended = std::string(line) + "\n";
  const ValidText valid(ended);
  std::int64_t effort = SplitPattern::effort_for(valid.text.size());
  for (std::size_t position = 0; position < valid.text.size();) {
    const SplitPattern::Match match = pattern_.find(valid.text, position, effort);
    if (match.begin > position) words_.add(valid.text.substr(position, match.begin - position));
    if (match.end > match.begin) {
      words_.add(valid.text.substr(match.begin, match.end - match.begin));
    }
    position = std::max(match.end, match.begin);
  }
}

std::unique_ptr<Tokenizer> ByteLevelTrainer::train(const VocabularyTraining& training) const {
  WordCounts letters(std::numeric_limits<std::size_t>::max());
  for (const auto& [word, count] : words_.counts()) {
    letters.add(byte_alphabet().letters_of(word), count);
  }
  std::vector<char32_t> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    alphabet.push_back(byte_alphabet().character_of(static_cast<unsigned char>(byte)));
  }
  const std::vector<std::string> special = special_of(training);
  const TrainedPieces trained = train_byte_pairs(letters, {.pieces = training.pieces,
                                                           .min_frequency = training.min_frequency,
                                                           .most_characters = 0,
                                                           .special = special,
                                                           .characters = alphabet,
                                                           .progress = training.progress});
  const auto piece = [&](TokenId id) { return trained.pieces[static_cast<std::size_t>(id)]; };
  PieceIds vocabulary;
  for (std::size_t id = 0; id < trained.pieces.size(); ++id) {
    vocabulary.emplace_back(trained.pieces[id], id);
  }
  ordered_json merges = ordered_json::array();
  for (const TrainedPieces::Merge& merge : trained.merges) {
    merges.push_back(piece(merge.left) + " " + piece(merge.right));
  }
  HuggingFaceParts parts{.pre_tokenizer = byte_level_json(true),
                         .model = byte_pair_json(std::move(vocabulary), std::move(merges)),
                         .decoder = byte_level_json(true),
                         .added = added_of(special, 0)};
  constexpr TokenId kClassification = 2, kSeparator = 3;
  return make_byte_level_tokenizer(
      document_of(std::move(parts),
                  template_json(piece, {.before = kClassification, .after = kSeparator})),
      kLocation);
}

}  // namespace roformer
