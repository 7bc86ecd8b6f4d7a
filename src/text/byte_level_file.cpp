#include "text/byte_level_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/split_pattern.h"

namespace roformer {
namespace {

// A literal text as a pattern.
std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = static_cast<signed char>(c) < 0 || (c >= '0' && c <= '9') ||
                       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c < ' ';
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

class ByteLevelReader {
 public:
  ByteLevelReader(std::string_view text, const std::string& location)
      : location_(location), document_(parse_json(text, location, RepeatedNames::refused)) {}

  ByteLevelFile read() {
    require(document_.is_object(), "is not a JSON object");
    read_model(part(document_, "model"));
    read_added();
    file_.pieces.resize(static_cast<std::size_t>(highest_id()) + 1);
    file_.in_model.resize(file_.pieces.size());
    for (const auto& [piece, id] : ids_) {
      std::string& slot = file_.pieces[static_cast<std::size_t>(id)];
      if (!slot.empty()) {
        refuse(fmt::format("gives {} and {} the same id {}", printable(std::min(slot, piece)),
                           printable(std::max(slot, piece)), id));
      }
      slot = piece;
    }
    for (const auto& [piece, id] : part(document_["model"], "vocab").items()) {
      file_.in_model[id.get<std::size_t>()] = true;
    }
    read_merges(part(document_["model"], "merges"));
    read_normalizer(json_or_null(document_, "normalizer"));
    read_cutting();
    read_decoder();
    read_special();
    return std::move(file_);
  }

 private:
  const std::string& location_;
  nlohmann::json document_;
  ByteLevelFile file_;
  std::unordered_map<std::string, TokenId> ids_;

  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const {
    throw_failure(location_, message, hint);
  }
  void require(bool good, const std::string& message) const {
    if (!good) refuse(message);
  }
  const nlohmann::json& part(const nlohmann::json& object, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) refuse(fmt::format("lacks \"{}\"", name));
    return *found;
  }
  bool flag(const nlohmann::json& object, const char* name, bool otherwise) const {
    return json_flag(object, name, otherwise, location_);
  }
  std::string word(const nlohmann::json& object, const char* name) const {
    return json_word(object, name, location_);
  }
  // The list of steps of a "Sequence".
  nlohmann::json steps_of(const nlohmann::json& sequence, const char* name,
                          const char* what) const {
    const nlohmann::json list = json_or_null(sequence, name);
    require(list.is_array(), fmt::format("its sequence of {} is no list", what));
    return list;
  }
  // Null, or "" if the field has no effect.
  void require_none(const nlohmann::json& model, const char* name) const {
    const nlohmann::json value = json_or_null(model, name);
    if (value.is_null() || value == "" || value == false || value == 0) return;
    refuse(fmt::format("its model has \"{}\": {}, which a byte-level BPE has not", name,
                       describe_json(value)));
  }

  TokenId id_of(const nlohmann::json& value, const std::string& piece) const {
    constexpr std::uint64_t kMost = 100'000'000;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
      refuse(fmt::format("the id of {} is {}, not a number from 0 to {}", printable(piece),
                         describe_json(value), kMost));
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
  // Ids without a piece cost memory, so a file may not have more such ids than pieces.
  TokenId highest_id() const {
    constexpr std::int64_t kFreely = 1000;
    const auto highest = std::max_element(
        ids_.begin(), ids_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto pieces = static_cast<std::int64_t>(ids_.size());
    if (highest->second >= 2 * pieces + kFreely) {
      refuse(fmt::format("numbers {} {}, with {} pieces in all", printable(highest->first),
                         highest->second, pieces));
    }
    return highest->second;
  }

  void read_model(const nlohmann::json& model) {
    require(model.is_object() && json_or_null(model, "type") == "BPE", "holds no BPE model");
    for (const char* name :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"}) {
      require_none(model, name);
    }
    file_.whole_words_first = flag(model, "ignore_merges", false);
    file_.joins_unknown = flag(model, "fuse_unk", false);
    const nlohmann::json& vocabulary = part(model, "vocab");
    require(vocabulary.is_object() && !vocabulary.empty(), "has no vocabulary");
    for (const auto& [piece, id] : vocabulary.items()) {
      require(!piece.empty(), "has a piece without characters");
      ids_.emplace(piece, id_of(id, piece));
    }
    if (!json_or_null(model, "unk_token").is_null()) {
      file_.model_unknown = known(word(model, "unk_token"), "its unk_token is");
    }
  }

  void read_added() {
    const nlohmann::json list = json_or_null(document_, "added_tokens");
    if (list.is_null()) return;
    require(list.is_array(), "its \"added_tokens\" are no list");
    for (const nlohmann::json& entry : list) {
      AddedToken token = parse_added_token(entry, location_);
      token.id = id_of(part(entry, "id"), token.content);
      file_.added.push_back(std::move(token));
    }
    check_added_ids(
        file_.added,
        [&](const std::string& piece) {
          const auto found = ids_.find(piece);
          return found == ids_.end() ? -1 : found->second;
        },
        std::ssize(ids_), location_);
    for (const AddedToken& token : file_.added) ids_.emplace(token.content, token.id);
  }

  // "a b", or ["a", "b"] as newer releases write it.
  void read_merges(const nlohmann::json& list) {
    require(list.is_array(), "its \"merges\" are no list");
    file_.merges.reserve(list.size());
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
        refuse(fmt::format("its merge {} is {}, not two pieces", file_.merges.size(),
                           describe_json(entry)));
      }
      file_.merges.push_back({.left = known(left, "merges"),
                              .right = known(right, "merges"),
                              .merged = known(left + right, "merges to")});
    }
  }

  void read_normalizer(const nlohmann::json& normalizer) {
    if (normalizer.is_null()) return;
    require(normalizer.is_object(), "its normalizer is no object");
    const std::string type = word(normalizer, "type");
    if (type == "Sequence") {
      for (const nlohmann::json& entry : steps_of(normalizer, "normalizers", "normalizers")) {
        read_normalizer(entry);
      }
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      file_.normal_forms.push_back(type);
    } else {
      refuse(fmt::format("normalises text by {}", printable(type)),
             "byte-level tokenizers with NFC, NFD, NFKC or NFKD are read");
    }
  }

  void read_cutting() {
    const nlohmann::json cutting = json_or_null(document_, "pre_tokenizer");
    require(cutting.is_object(), "does not cut text into words of bytes");
    bool bytes = false;
    read_step(cutting, bytes);
    require(bytes, "does not turn text into bytes (\"ByteLevel\")");
  }

  void read_step(const nlohmann::json& step, bool& bytes) {
    require(step.is_object(), "its pre-tokenizer is no object");
    const std::string type = word(step, "type");
    if (type == "Sequence") {
      for (const nlohmann::json& entry : steps_of(step, "pretokenizers", "pre-tokenizers")) {
        read_step(entry, bytes);
      }
      return;
    }
    require(!bytes, "cuts text after the step \"ByteLevel\", which is not read here");
    if (type == "ByteLevel") {
      bytes = true;
      file_.steps.push_back(
          {.prefix_space = flag(step, "add_prefix_space", true),
           .pattern = flag(step, "use_regex", true) ? std::string(kGpt2Pattern) : ""});
    } else if (type == "Split") {
      read_split(step);
    } else if (type == "Digits") {
      file_.steps.push_back(
          {.pattern = flag(step, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)"});
    } else {
      refuse(fmt::format("cuts text by {}", printable(type)),
             "Split, Digits and ByteLevel are read");
    }
  }

  void read_split(const nlohmann::json& step) {
    const nlohmann::json pattern = json_or_null(step, "pattern");
    const bool literal = pattern.is_object() && pattern.contains("String");
    CuttingStep result = {.pattern =
                              literal ? escaped(word(pattern, "String")) : word(pattern, "Regex")};
    const std::string behavior = word(step, "behavior");
    const bool inverted = flag(step, "invert", false);
    if (behavior == "Removed") {
      (inverted ? result.drops_rest : result.drops_matches) = true;
    } else if (behavior != "Isolated") {
      refuse(fmt::format("splits text with the behavior {}", printable(behavior)),
             "Isolated and Removed are read");
    }
    // Throws now for a pattern that cannot be read.
    SplitPattern(result.pattern, location_);
    file_.steps.push_back(std::move(result));
  }

  void read_decoder() const {
    nlohmann::json decoder = json_or_null(document_, "decoder");
    if (json_or_null(decoder, "type") == "Sequence") {
      const nlohmann::json list = json_or_null(decoder, "decoders");
      if (list.is_array() && list.size() == 1) decoder = list[0];
    }
    require(json_or_null(decoder, "type") == "ByteLevel",
            "does not turn bytes back into text (\"decoder\" is no \"ByteLevel\")");
  }

  void read_special() {
    SpecialTokens& special = file_.special;
    read_template(json_or_null(document_, "post_processor"));
    file_.text_start = special.classification;
    special.unknown = file_.model_unknown;
    const nlohmann::json padding = json_or_null(document_, "padding");
    if (const nlohmann::json token = json_or_null(padding, "pad_token"); token.is_string()) {
      special.padding = known(token.get<std::string>(), "pads with");
    }
    name(special.padding, {"[PAD]", "<pad>", "<|padding|>", "<|pad|>", "<|endoftext|>"});
    name(special.unknown, {"[UNK]", "<unk>"});
    name(special.mask, {"[MASK]", "<mask>", "<|mask|>"});
    name(special.separator, {"<|endoftext|>", "</s>", "[SEP]", "<|end_of_text|>"});
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

  void read_template(const nlohmann::json& processor) {
    if (processor.is_null()) return;
    require(processor.is_object(), "its post-processor is no object");
    const std::string type = word(processor, "type");
    if (type == "ByteLevel") return;
    if (type == "Sequence") {
      for (const nlohmann::json& entry : steps_of(processor, "processors", "post-processors")) {
        read_template(entry);
      }
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      file_.special.classification = named_pair(processor, "cls");
      file_.special.separator = named_pair(processor, "sep");
    } else if (type == "TemplateProcessing") {
      read_single(json_or_null(processor, "single"));
    } else {
      refuse(fmt::format("puts tokens around text by {}", printable(type)),
             "TemplateProcessing, BertProcessing and RobertaProcessing are read");
    }
  }

  // ["[CLS]", 0]
  TokenId named_pair(const nlohmann::json& processor, const char* name) const {
    const nlohmann::json pair = json_or_null(processor, name);
    require(pair.is_array() && !pair.empty() && pair[0].is_string(),
            fmt::format("its \"{}\" names no token", name));
    return known(pair[0].get<std::string>(), "puts around text");
  }

  // At most one token before a text, and one after it.
  void read_single(const nlohmann::json& list) {
    require(list.is_array(), "its template is no list");
    SpecialTokens& special = file_.special;
    bool after = false;
    for (const nlohmann::json& entry : list) {
      const nlohmann::json token = json_or_null(entry, "SpecialToken");
      if (token.is_null()) {
        require(!after && !json_or_null(entry, "Sequence").is_null(),
                "its template for one text is not tokens around a text");
        after = true;
        continue;
      }
      TokenId& id = after ? special.separator : special.classification;
      require(id < 0, "puts more than one token before or after a text");
      id = known(word(token, "id"), "puts around text");
    }
  }
};

}  // namespace

ByteLevelFile parse_byte_level_file(std::string_view text, const std::string& location) {
  return ByteLevelReader(text, location).read();
}

bool is_byte_level_file(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' &&
         text.find("\"ByteLevel\"") != std::string_view::npos &&
         text.find("\"merges\"") != std::string_view::npos;
}

}  // namespace roformer
