#include "text/byte_level_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/bpe_model.h"
#include "text/sentencepiece_model.h"
#include "text/unigram_model.h"

namespace roformer {
namespace {

constexpr std::int64_t kHighestId = 100'000'000;
// The program's own field of a model: its merges have the ranks of their results (tiktoken).
constexpr const char* kEqualRanks = "equal_ranks";
constexpr std::size_t kLongestUnigramPiece = 1024;  // bytes; each is looked up at each place

class ByteLevelReader {
 public:
  ByteLevelReader(std::string_view text, const std::string& location)
      : location_(location),
        document_(parse_json(text, location, RepeatedNames::refused)),
        fields_(document_, location) {}

  ByteLevelFile read() {
    file_.normalization = TextNormalization(fields_);
    file_.cutting = TextCutting(fields_);
    file_.decoder = PieceDecoder(fields_);
    if (!file_.cutting.gives_bytes()) {
      const std::string& marker = file_.cutting.marker();
      file_.marker = marker.empty() ? kSpaceMarker : marker;
    }
    const JsonFields model = fields_.object("model");
    const bool unigram = model.word<bool>("type", {{"BPE", false}, {"Unigram", true}});
    unigram ? read_scores(model) : read_vocabulary(model);
    read_added();
    order_pieces();
    check_bytes();
    find_usable(model);
    make_model(model);
    read_special();
    return std::move(file_);
  }

 private:
  const std::string& location_;
  nlohmann::json document_;
  JsonFields fields_;
  ByteLevelFile file_;
  std::unordered_map<std::string, TokenId> ids_;  // of the pieces
  std::vector<bool> usable_;                      // by id: whether a text may become the piece
  std::vector<double> scores_;                    // of a unigram model's pieces
  std::int64_t model_size_ = 0;                   // pieces of the model
  TokenId unknown_ = -1;

  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const {
    throw_failure(location_, message, hint);
  }
  void require(bool good, const std::string& message) const {
    if (!good) refuse(message);
  }

  TokenId id_of(const nlohmann::json& value, const std::string& piece) const {
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(kHighestId)) {
      refuse(fmt::format("the id of {} is {}, not a number from 0 to {}", printable(piece),
                         describe_json(value), kHighestId));
    }
    return value.get<TokenId>();
  }
  TokenId known(const std::string& piece, const char* where) const {
    const auto found = ids_.find(piece);
    if (found == ids_.end()) {
      refuse(fmt::format("{} {}, which is no piece of its vocabulary", where, printable(piece)));
    }
    return found->second;
  }

  // Null, or "" if the field has no effect.
  static void require_none(const JsonFields& model, const char* name) {
    const nlohmann::json* const value = model.find(name);
    if (value == nullptr || *value == "" || *value == false || *value == 0) return;
    model.refuse(name, "none, which is all that is read here");
  }

  // Ids without a piece cost memory, so a file may not have more such ids than pieces.
  TokenId highest_id() const {
    constexpr std::int64_t kFreely = 1000;
    const auto highest = std::ranges::max_element(
        ids_, [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto pieces = static_cast<std::int64_t>(ids_.size());
    if (highest->second >= 2 * pieces + kFreely) {
      refuse(fmt::format("numbers {} {}, with {} pieces in all", printable(highest->first),
                         highest->second, pieces));
    }
    return highest->second;
  }

  void read_vocabulary(const JsonFields& model) {
    for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      require_none(model, name);
    }
    const nlohmann::json& vocabulary = *model.object("vocab").map().value();
    require(!vocabulary.empty(), "has no vocabulary");
    for (const auto& [piece, id] : vocabulary.items()) {
      require(!piece.empty(), "has a piece without characters");
      ids_.emplace(piece, id_of(id, piece));
    }
    if (model.find("unk_token") != nullptr) {
      unknown_ = known(model.text("unk_token"), "its unk_token is");
    }
    model_size_ = std::ssize(ids_);
  }

  // Pieces with their scores; the id is the place in the list. A later one of equal pieces counts.
  void read_scores(const JsonFields& model) {
    const nlohmann::json& list = model.list("vocab");
    require(!list.empty(), "has no vocabulary");
    for (const nlohmann::json& entry : list) {
      const bool good = entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
                        entry[1].is_number() && !entry[0].get_ref<const std::string&>().empty();
      const std::size_t size = good ? entry[0].get_ref<const std::string&>().size() : 0;
      if (!good || size > kLongestUnigramPiece) {
        refuse(
            fmt::format("\"model.vocab[{}]\" is {}, wanted a piece of 1 to {} bytes and its "
                        "score",
                        scores_.size(), describe_json(entry), kLongestUnigramPiece));
      }
      ids_.insert_or_assign(entry[0].get<std::string>(), static_cast<TokenId>(scores_.size()));
      file_.pieces.push_back(entry[0].get<std::string>());
      scores_.push_back(entry[1].get<double>());
    }
    model_size_ = std::ssize(scores_);
    unknown_ = static_cast<TokenId>(model.count("unk_id", between(0, model_size_ - 1)));
  }

  void read_added() {
    if (fields_.find("added_tokens") == nullptr) return;
    for (const nlohmann::json& entry : fields_.list("added_tokens")) {
      AddedToken token = parse_added_token(entry, location_);
      token.id = id_of(json_or_null(entry, "id"), token.content);
      file_.added.push_back(std::move(token));
    }
    check_added_ids(
        file_.added,
        [&](const std::string& piece) {
          const auto found = ids_.find(piece);
          return found == ids_.end() ? -1 : found->second;
        },
        model_size_, location_);
    for (const AddedToken& token : file_.added) ids_.emplace(token.content, token.id);
  }

  // A unigram model's pieces are in their places already.
  void order_pieces() {
    file_.pieces.resize(std::max(file_.pieces.size(), static_cast<std::size_t>(highest_id()) + 1));
    for (const auto& [piece, id] : ids_) {
      std::string& slot = file_.pieces[static_cast<std::size_t>(id)];
      if (!slot.empty() && slot != piece) {
        refuse(fmt::format("gives {} and {} the same id {}", printable(std::min(slot, piece)),
                           printable(std::max(slot, piece)), id));
      }
      slot = piece;
    }
  }

  // A text never becomes a special token. Added tokens are found before the model sees a text.
  void find_usable(const JsonFields& model) {
    usable_.resize(file_.pieces.size());
    if (scores_.empty()) {
      for (const auto& [piece, id] : model.object("vocab").map().value()->items()) {
        usable_[id.get<std::size_t>()] = true;
      }
    } else {
      for (std::size_t id = 0; id < scores_.size(); ++id) {
        usable_[id] = ids_.at(file_.pieces[id]) == static_cast<TokenId>(id);
      }
    }
    for (const AddedToken& token : file_.added) {
      if (token.special) usable_[static_cast<std::size_t>(token.id)] = false;
    }
  }

  void make_model(const JsonFields& model) {
    const bool byte_fallback = model.flag("byte_fallback", false);
    if (file_.cutting.gives_bytes() && (byte_fallback || !scores_.empty())) {
      model.refuse(byte_fallback ? "byte_fallback" : "type",
                   "a BPE without fallback, since the step ByteLevel turns text into bytes");
    }
    if (!scores_.empty()) {
      file_.model = make_unigram_model(
          {.scores = scores_, .byte_fallback = byte_fallback, .unknown = unknown_}, file_.pieces,
          usable_);
      return;
    }
    const BpeOptions options = {.of_bytes = file_.cutting.gives_bytes(),
                                .whole_words_first = model.flag("ignore_merges", false),
                                .joins_unknown = model.flag("fuse_unk", false),
                                .byte_fallback = byte_fallback,
                                .equal_ranks = model.flag(kEqualRanks, false),
                                .unknown = unknown_,
                                .marker = file_.marker};
    file_.model = make_bpe_model(options, file_.pieces, usable_, read_merges(model));
  }

  // "a b", or ["a", "b"] as newer releases write it.
  std::vector<BytePairMerge> read_merges(const JsonFields& model) const {
    std::vector<BytePairMerge> merges;
    const nlohmann::json& list = model.list("merges");
    merges.reserve(list.size());
    for (const nlohmann::json& entry : list) {
      std::string left, right;
      if (entry.is_string()) {
        const auto& text = entry.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
          left = text.substr(0, space);
          right = text.substr(space + 1);
        }
      } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
                 entry[1].is_string()) {
        left = entry[0].get<std::string>();
        right = entry[1].get<std::string>();
      }
      if (left.empty() || right.empty()) {
        refuse(
            fmt::format("its merge {} is {}, not two pieces", merges.size(), describe_json(entry)));
      }
      merges.push_back({.left = known(left, "merges"),
                        .right = known(right, "merges"),
                        .merged = known(left + right, "merges to")});
    }
    return merges;
  }

  void check_bytes() const {
    const bool bytes = file_.cutting.gives_bytes();
    if (bytes && !file_.decoder.is_byte_level()) {
      fields_.refuse("decoder", "\"ByteLevel\", since the step ByteLevel turns text into bytes");
    }
    if (!bytes && file_.decoder.is_byte_level()) {
      fields_.refuse("pre_tokenizer",
                     "a step \"ByteLevel\", since the decoder turns bytes into text");
    }
  }

  void read_special() {
    SpecialTokens& special = file_.special;
    if (fields_.find("post_processor") != nullptr) read_template(fields_.object("post_processor"));
    file_.text_start = special.classification;
    special.unknown = unknown_;
    const nlohmann::json padding = json_or_null(document_, "padding");
    if (const nlohmann::json token = json_or_null(padding, "pad_token"); token.is_string()) {
      special.padding = known(token.get<std::string>(), "pads with");
    }
    name(special.padding, {"[PAD]", "<pad>", "<|padding|>", "<|pad|>", "<|endoftext|>"});
    name(special.unknown, {"[UNK]", "<unk>"});
    name(special.mask, {"[MASK]", "<mask>", "<|mask|>"});
    name(special.separator, {"<|endoftext|>", "</s>", "[SEP]", "<|end_of_text|>", "<eos>"});
    // If texts only begin with a token, it also separates documents.
    if (special.separator < 0) special.separator = special.classification;
    // A token in several roles (<|endoftext|>) only ends documents, so that a generated text can
    // contain it.
    for (TokenId* const id : {&special.padding, &special.unknown, &special.classification}) {
      if (*id == special.separator) *id = -1;
    }
  }

  // If an id is unknown so far, sets it to the first of the names that is a special token.
  void name(TokenId& id, std::initializer_list<std::string_view> names) const {
    for (const std::string_view wanted : names) {
      for (const AddedToken& token : file_.added) {
        if (id < 0 && token.special && token.content == wanted) id = token.id;
      }
    }
  }

  void read_template(const JsonFields& processor) {
    enum class Kind { none, sequence, pair_of_tokens, listed };
    const Kind kind = processor.word<Kind>("type", {{"Sequence", Kind::sequence},
                                                    {"ByteLevel", Kind::none},
                                                    {"TemplateProcessing", Kind::listed},
                                                    {"BertProcessing", Kind::pair_of_tokens},
                                                    {"RobertaProcessing", Kind::pair_of_tokens}});
    SpecialTokens& special = file_.special;
    if (kind == Kind::sequence) {
      for (const JsonFields& part : processor.objects("processors")) read_template(part);
    } else if (kind == Kind::pair_of_tokens) {
      special.classification = named_pair(processor, "cls");
      special.separator = named_pair(processor, "sep");
      if (processor.text("type") == "RobertaProcessing") special.pair_separators = 2;
    } else if (kind == Kind::listed) {
      read_single(processor);
      read_pair(processor);
    }
  }

  // ["[CLS]", 0]
  TokenId named_pair(const JsonFields& processor, const char* name) const {
    const nlohmann::json* const pair = processor.find(name);
    if (pair == nullptr || !pair->is_array() || pair->empty() || !(*pair)[0].is_string()) {
      processor.refuse(name, "a token and its id");
    }
    return known((*pair)[0].get<std::string>(), "puts around text");
  }

  // At most one token before a text, and one after it.
  void read_single(const JsonFields& processor) {
    SpecialTokens& special = file_.special;
    bool after = false;
    for (const JsonFields& entry : processor.objects("single")) {
      if (!entry.has("SpecialToken")) {
        if (after || !entry.has("Sequence")) {
          processor.refuse("single", "tokens around one text");
        }
        after = true;
        continue;
      }
      TokenId& id = after ? special.separator : special.classification;
      if (id >= 0) processor.refuse("single", "at most one token before a text, and one after it");
      id = known(entry.object("SpecialToken").text("id"), "puts around text");
    }
  }

  // How many separators are between two texts. Others than RoBERTa's two are one here.
  void read_pair(const JsonFields& processor) {
    if (processor.find("pair") == nullptr) return;
    std::int64_t between_texts = 0;
    bool first = false, second = false;
    for (const JsonFields& entry : processor.objects("pair")) {
      const bool text = entry.has("Sequence");
      second = second || (first && text);
      first = first || text;
      if (!first || second || text) continue;
      const std::string name = entry.object("SpecialToken").text("id");
      const auto token = ids_.find(name);
      if (token != ids_.end() && token->second == file_.special.separator) ++between_texts;
    }
    if (second && between_texts == 2) file_.special.pair_separators = 2;
  }
};

}  // namespace

ByteLevelFile parse_byte_level_file(std::string_view text, const std::string& location) {
  return ByteLevelReader(text, location).read();
}

bool is_byte_level_file(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const auto has = [&](std::string_view name) { return text.find(name) != std::string_view::npos; };
  return begin != std::string_view::npos && text[begin] == '{' && has("\"model\"") &&
         (has("\"merges\"") || has("\"Unigram\""));
}

}  // namespace roformer
