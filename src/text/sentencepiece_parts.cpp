// A SentencePiece model as parts of a tokenizer.json. The library normalises a text by the longest
// rule at each place, and chooses pieces by their scores; the steps below do the same with what
// Hugging Face's tokenizers have.
#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/hugging_face_parts.h"
#include "text/normal_form.h"
#include "text/normalization_map.h"
#include "text/sentencepiece_file.h"
#include "text/sentencepiece_model.h"
#include "text/utf8.h"

namespace roformer {
namespace {

using nlohmann::ordered_json;
using Piece = SentencePieceFile::Piece;

// Noncharacters, which no text should contain.
constexpr char32_t kFirstNoncharacter = 0xFDD0, kLastNoncharacter = 0xFDEF;

std::u32string code_points(std::string_view text) {
  std::u32string result;
  for (std::size_t position = 0; position < text.size();) {
    result += next_code_point(text, position);
  }
  return result;
}

std::string as_utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}

bool is_mark(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0;
}

// The rules of a model's normalisation as steps. "Precompiled" looks rules up for whole graphemes
// (a letter with its marks), and only for the first rule that begins one, where the library looks
// for the longest rule at each code point. So a separator is put before every code point that could
// join a grapheme or compose with the one before it, which leaves the rules for single code points.
// The rules for several compose letters and marks, as NFC does. So the separators inside of what a
// rule matches are of another kind, which is removed before NFC; the others are removed after it.
class RuleSteps {
 public:
  explicit RuleSteps(const std::string& rules) : rules_(rules) {
    std::optional<NormalizationMap> map = NormalizationMap::of(rules);
    is_readable_ = map && map->is_safe() &&
                   map->for_each_rule([&](const std::string& matched, std::string_view text) {
                     if (!is_valid_utf8(matched) || !is_valid_utf8(text)) return;
                     const std::u32string key = code_points(matched);
                     if (key.size() == 1) single_[key[0]] = text;
                     if (key.size() > 1) several_.emplace(key, text);
                   });
    if (is_readable_) study();
  }

  // Whether the steps do what the library does, but for the few rules that NFC has not.
  bool are_exact() const { return is_readable_ && (several_.empty() || composes_); }

  void append_to(ordered_json& steps) const {
    const std::string inside = as_utf8(inside_), between = as_utf8(between_);
    if (are_exact()) {
      if (composes_) steps.push_back(replace_pattern(places_inside(), inside));
      steps.push_back(replace_pattern(
          fmt::format("(?<=[^{}])(?=[{}])", inside, kJoining + ranges_of(composing_)), between));
    }
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(rules_)}});
    if (!are_exact()) return;
    if (composes_) {
      steps.push_back(replace_text(inside, ""));
      steps.push_back({{"type", "NFC"}});
    }
    steps.push_back(replace_text(between, ""));
  }

 private:
  using Characters = std::set<char32_t>;

  // Marks, joiners, half-width voiced sounds, the Thai and Lao vowel am, skin tones and tags, which
  // continue a grapheme, and the line end, which continues one after a carriage return.
  inline static const std::string kJoining =
      R"(\p{M}\x{E33}\x{EB3}\x{200C}\x{200D}\x{FF9E}\x{FF9F}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}\n)";

  const std::string& rules_;
  bool is_readable_ = false;
  std::unordered_map<char32_t, std::string> single_;
  std::map<std::u32string, std::string> several_;
  bool composes_ = false;
  char32_t inside_ = 0, between_ = 0;
  Characters composing_;  // what NFC may compose with a code point before it, but for marks

  std::string normal(char32_t c) const {
    const auto found = single_.find(c);
    return found == single_.end() ? as_utf8(c) : found->second;
  }

  char32_t noncharacter_before(char32_t c) const {
    do {
      --c;
    } while (c > kFirstNoncharacter && single_.contains(c));
    return c;
  }

  void study() {
    between_ = noncharacter_before(kLastNoncharacter + 1);
    inside_ = noncharacter_before(between_);
    const NormalForm composition("NFC");
    std::size_t composed = 0;
    for (const auto& [key, text] : several_) {
      std::string joined;
      for (const char32_t c : key) joined += normal(c);
      if (composition.apply(joined) == text) ++composed;
    }
    // SentencePiece's own tables have some rules for scripts or letters that NFC treats otherwise.
    constexpr double kNearlyAll = 0.99;
    composes_ = !several_.empty() &&
                static_cast<double>(composed) >= kNearlyAll * static_cast<double>(several_.size());
    if (!composes_) return;
    for (char32_t c = 0; c <= UCHAR_MAX_VALUE; ++c) {
      if (U_IS_SURROGATE(c) || is_mark(c)) continue;
      const std::string text = normal(c);
      std::size_t first = 0;
      if (!text.empty() && may_compose(next_code_point(text, first))) composing_.insert(c);
    }
  }

  static bool may_compose(char32_t c) {
    return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NFC_QUICK_CHECK) == UNORM_MAYBE;
  }

  // Inside of the brackets of a class.
  static std::string ranges_of(const Characters& characters) {
    std::string text;
    for (auto next = characters.begin(); next != characters.end();) {
      const char32_t first = *next;
      char32_t last = first;
      while (++next != characters.end() && *next == last + 1) ++last;
      text += fmt::format("\\x{{{:X}}}", static_cast<std::uint32_t>(first));
      if (last != first) text += fmt::format("-\\x{{{:X}}}", static_cast<std::uint32_t>(last));
    }
    return text;
  }
  static std::string class_of(const Characters& characters) {
    return "[" + ranges_of(characters) + "]";
  }

  // The places between the code points of what a rule matches: before the last one of each rule,
  // since a rule's beginning is a rule too. One alternative for all first letters that may go on in
  // the same way. NFC does nothing to what begins with a mark.
  std::string places_inside() const {
    std::map<std::u32string, Characters> following;
    Characters all_following;
    for (const auto& [key, text] : several_) {
      following[key.substr(0, key.size() - 1)].insert(key.back());
      all_following.insert(key.back());
    }
    std::map<std::pair<std::u32string, Characters>, Characters> first_letters;
    for (const auto& [beginning, next] : following) {
      first_letters[{beginning.substr(1), next}].insert(beginning.front());
    }
    std::string regex;
    for (const auto& [going_on, first] : first_letters) {
      std::string before = class_of(first);
      for (const char32_t c : going_on.first) before += ranges_of({c});
      regex += fmt::format("{}(?<={})(?={})", regex.empty() ? "" : "|", before,
                           class_of(going_on.second));
    }
    return fmt::format("(?={})(?:{})", class_of(all_following), regex);
  }

  static std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
      const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
      std::uint32_t group = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
      }
      for (std::size_t j = 0; j < 4; ++j) {
        text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
      }
    }
    return text;
  }
};

class Writer {
 public:
  explicit Writer(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        file_(parse_sentencepiece_file(tokenizer.file_contents())),
        marker_(file_.marks_spaces ? kSpaceMarker : " ") {}

  HuggingFaceParts parts() {
    if (const std::string problem = inexpressible(); !problem.empty()) {
      result_.notes.push_back(fmt::format(
          "tokenizer.json cannot express a SentencePiece model {}: the text must be encoded with "
          "the model's file",
          problem));
      return result_;
    }
    result_.model = file_.model == PieceModel::unigram ? unigram() : byte_pairs();
    result_.normalizer = normalizer();
    result_.pre_tokenizer = pre_tokenizer();
    result_.decoder = decoder();
    bool parts_begin_words = false;
    for (TokenId id = 0; id < tokenizer_.vocabulary_size(); ++id) {
      const PieceType type = type_of(id);
      const bool special = tokenizer_.is_special(id) || type == PieceType::control;
      // In a unigram model their scores choose them, and an added token would cut the text, whose
      // parts then lose the spaces at their ends.
      const bool cuts = file_.model != PieceModel::unigram || !file_.removes_extra_spaces;
      if (!special && !(cuts && type == PieceType::user_defined)) continue;
      result_.added.push_back({.content = tokenizer_.piece(id), .id = id, .special = special});
      parts_begin_words = parts_begin_words || (!special && file_.adds_prefix);
    }
    if (parts_begin_words) {
      result_.notes.push_back(
          "in tokenizer.json the text after a user-defined symbol begins a word: texts with such "
          "symbols get other ids there");
    }
    return std::move(result_);
  }

 private:
  const Tokenizer& tokenizer_;
  SentencePieceFile file_;
  std::string marker_;  // of a space
  HuggingFaceParts result_;

  PieceType type_of(TokenId id) const { return file_.pieces[static_cast<std::size_t>(id)].type; }

  std::string inexpressible() const {
    if (std::ssize(file_.pieces) != tokenizer_.vocabulary_size()) return "whose pieces are damaged";
    if (file_.model == PieceModel::word) return "of whole words";
    if (file_.space_is_suffix) return "whose words end with the mark of a space";
    const auto unused = [](const Piece& piece) { return piece.type == PieceType::unused; };
    if (file_.model == PieceModel::bpe && std::ranges::any_of(file_.pieces, unused)) {
      return "of byte pairs with unused pieces";
    }
    return "";
  }

  bool takes_part(const Piece& piece) const {
    return piece.type == PieceType::normal || piece.type == PieceType::user_defined;
  }

  ordered_json unigram() const {
    double least = 0, most = -std::numeric_limits<double>::infinity();
    for (const Piece& piece : file_.pieces) {
      if (piece.type != PieceType::normal) continue;
      least = std::min<double>(least, piece.score);
      most = std::max<double>(most, piece.score);
    }
    constexpr double kPenalty = 10;  // of an unknown character, below the least score
    ordered_json pieces = ordered_json::array();
    for (const Piece& piece : file_.pieces) {
      double score = piece.score;
      if (piece.type == PieceType::user_defined) {
        // The library's bonus, with which such a piece is always chosen.
        score = most * static_cast<double>(piece.text.size()) - 0.1;
      } else if (piece.type == PieceType::unused) {
        // More than its characters cost.
        score = (least - kPenalty) * static_cast<double>(count_characters(piece.text) + 1);
      } else if (!takes_part(piece)) {
        score = least;  // so that an unknown character costs as much as in the library
      }
      pieces.push_back({piece.text, score});
    }
    return {{"type", "Unigram"},
            {"unk_id", tokenizer_.special().unknown},
            {"vocab", std::move(pieces)},
            {"byte_fallback", file_.byte_fallback}};
  }

  // The library joins the neighbours whose joined piece has the highest score, the leftmost of
  // equals. A merge for each way to cut a piece in two says the same; of two ways with one result,
  // as in runs of one character, the longer left part is usually the one further left.
  ordered_json byte_pairs() const {
    PieceIds vocabulary;
    std::unordered_map<std::string_view, const Piece*> known;
    std::vector<const Piece*> by_score;
    for (std::size_t id = 0; id < file_.pieces.size(); ++id) {
      const Piece& piece = file_.pieces[id];
      vocabulary.emplace_back(piece.text, id);
      if (!takes_part(piece)) continue;
      known[piece.text] = &piece;
      if (piece.type == PieceType::normal) by_score.push_back(&piece);
    }
    std::ranges::stable_sort(by_score, std::ranges::greater{}, &Piece::score);
    ordered_json merges = ordered_json::array();
    for (const Piece* piece : by_score) {
      if (file_.model != PieceModel::bpe) break;  // single characters
      const std::string_view text = piece->text;
      for (std::size_t cut = text.size(); cut-- > 1;) {
        if (is_continuation_byte(text[cut])) continue;
        const std::string_view left = text.substr(0, cut), right = text.substr(cut);
        if (!known.contains(left) || !known.contains(right)) continue;
        // Releases before 0.20 read "left right" only.
        if (text.find(' ') == std::string_view::npos) {
          merges.push_back(fmt::format("{} {}", left, right));
        } else {
          merges.push_back({left, right});
        }
      }
    }
    ordered_json model = byte_pair_json(std::move(vocabulary), std::move(merges));
    model["unk_token"] = tokenizer_.piece(tokenizer_.special().unknown);
    model["fuse_unk"] = true;
    model["byte_fallback"] = file_.byte_fallback;
    return model;
  }

  ordered_json normalizer() {
    ordered_json steps = ordered_json::array();
    if (!file_.rules.empty()) {
      const RuleSteps rules(file_.rules);
      rules.append_to(steps);
      if (!rules.are_exact()) {
        result_.notes.push_back(
            "its rules of normalisation join characters in ways that tokenizer.json cannot "
            "express: texts with such characters get other ids there");
      }
    }
    if (file_.removes_extra_spaces) {
      // At the end, a marker in the text counts as a space.
      steps.push_back(replace_pattern(R"(\A +| +(?= ))", ""));
      steps.push_back(
          replace_pattern(file_.marks_spaces ? "[ " + marker_ + R"(]+\z)" : R"( +\z)", ""));
    }
    if (file_.marks_spaces) steps.push_back(replace_text(" ", marker_));
    // Such a model has no other mark for the beginning of a word, so every part of a text between
    // special tokens begins with one.
    if (file_.adds_prefix && !prefixes_whole_text()) {
      steps.push_back({{"type", "Prepend"}, {"prepend", marker_}});
    }
    return steps.empty() ? ordered_json()
                         : ordered_json{{"type", "Sequence"}, {"normalizers", steps}};
  }

  // Models that keep spaces, as Llama's, put one before the whole text only.
  bool prefixes_whole_text() const {
    return file_.adds_prefix && !file_.removes_extra_spaces && file_.marks_spaces;
  }

  static ordered_json metaspace(std::string_view replacement, const char* prefix, bool splits) {
    return {{"type", "Metaspace"},
            {"replacement", replacement},
            {"prepend_scheme", prefix},
            {"split", splits}};
  }

  // A text must not yield a control piece, or bytes such as "<0x41>", from its letters. "Unigram"
  // looks for every piece, so such a name is cut after its first character.
  std::string inside_other_names() const {
    if (file_.model != PieceModel::unigram) return "";
    std::string regex;
    bool bytes = false;
    for (const Piece& piece : file_.pieces) {
      bytes = bytes || piece.type == PieceType::byte;
      const bool named = piece.type == PieceType::control || piece.type == PieceType::unknown;
      std::size_t first = 0;
      if (!piece.text.empty()) next_code_point(piece.text, first);
      if (!named || first == piece.text.size()) continue;
      const std::string_view text = piece.text;
      if (!regex.empty()) regex += '|';
      regex += "(?<=" + literal(text.substr(0, first)) + ")(?=" + literal(text.substr(first)) + ")";
    }
    if (bytes) regex += std::string(regex.empty() ? "" : "|") + "(?<=<)(?=0x[0-9A-F]{2}>)";
    return regex;
  }

  static std::string literal(std::string_view text) {
    std::string regex;
    for (const char c : text) {
      if (std::string_view(R"(.*+?()[]{}|^$\-/)").find(c) != std::string_view::npos) regex += '\\';
      regex += c;
    }
    return regex;
  }

  // Models that keep spaces take two steps with "Metaspace". The first puts a space before a text,
  // also before one that begins with a marker, where a single step would not; the second makes the
  // space a marker.
  ordered_json pre_tokenizer() const {
    const bool splits = words_are_independent();
    ordered_json steps = ordered_json::array();
    if (prefixes_whole_text()) steps.push_back(metaspace(" ", "first", false));
    if (prefixes_whole_text() || splits) steps.push_back(metaspace(kSpaceMarker, "never", splits));
    if (const std::string regex = inside_other_names(); !regex.empty()) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", regex}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
    if (steps.empty()) return {};
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
  }

  // Whether no piece reaches from one word into the next.
  bool words_are_independent() const {
    if (!file_.marks_spaces) return false;
    bool knows_marker = false;
    for (const Piece& piece : file_.pieces) {
      if (!takes_part(piece)) continue;
      if (piece.text.find(marker_, 1) != std::string::npos) return false;
      knows_marker = knows_marker || piece.text == marker_;
    }
    return knows_marker;
  }

  ordered_json decoder() const {
    ordered_json steps = ordered_json::array();
    if (file_.marks_spaces) steps.push_back(replace_text(marker_, " "));
    if (file_.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
    steps.push_back({{"type", "Fuse"}});
    if (file_.adds_prefix) {
      steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    }
    return {{"type", "Sequence"}, {"decoders", steps}};
  }
};

}  // namespace

HuggingFaceParts sentencepiece_parts(const Tokenizer& tokenizer) {
  ROFORMER_ASSERT(tokenizer.kind() == TokenizerKind::sentencepiece);
  return Writer(tokenizer).parts();
}

}  // namespace roformer
