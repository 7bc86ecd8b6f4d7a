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

using ByteLevelJson = nlohmann::json;

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
    read_normalizer(optional(document_, "normalizer"));
    read_cutting();
    read_decoder();
    read_special();
    return std::move(file_);
  }

 private:
  const std::string& location_;
  ByteLevelJson document_;
  ByteLevelFile file_;
  std::unordered_map<std::string, TokenId> ids_;

  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const {
    throw_failure(location_, message, hint);
  }
  void require(bool good, const std::string& message) const {
    if (!good) refuse(message);
  }
  const ByteLevelJson& part(const ByteLevelJson& object, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) refuse(fmt::format("lacks \"{}\"", name));
    return *found;
  }
  // Null where it is not there.
  static ByteLevelJson optional(const ByteLevelJson& object, const char* name) {
    return object.is_object() ? object.value(name, ByteLevelJson()) : ByteLevelJson();
  }
  bool flag(const ByteLevelJson& object, const char* name, bool otherwise) const {
    const ByteLevelJson value = optional(object, name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) {
      refuse(fmt::format("\"{}\" is {}, not true or false", name, describe_json(value)));
    }
    return value.get<bool>();
  }
  std::string word(const ByteLevelJson& object, const char* name) const {
    const ByteLevelJson value = optional(object, name);
    if (!value.is_string()) {
      refuse(fmt::format("\"{}\" is {}, not a text", name, describe_json(value)));
    }
    return value.get<std::string>();
  }
  // Null, or "" where that says the same.
  void require_none(const ByteLevelJson& model, const char* name) const {
    const ByteLevelJson value = optional(model, name);
    if (value.is_null() || value == "" || value == false || value == 0) return;
    refuse(fmt::format("its model has \"{}\": {}, which a byte-level BPE has not", name,
                       describe_json(value)));
  }

  TokenId id_of(const ByteLevelJson& value, const std::string& piece) const {
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
  // Ids without a piece cost memory: a file may not have more of them than pieces.
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

  void read_model(const ByteLevelJson& model) {
    require(model.is_object() && optional(model, "type") == "BPE", "holds no BPE model");
    for (const char* name :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"}) {
      require_none(model, name);
    }
    file_.whole_words_first = flag(model, "ignore_merges", false);
    file_.joins_unknown = flag(model, "fuse_unk", false);
    const ByteLevelJson& vocabulary = part(model, "vocab");
    require(vocabulary.is_object() && !vocabulary.empty(), "has no vocabulary");
    for (const auto& [piece, id] : vocabulary.items()) {
      require(!piece.empty(), "has a piece without characters");
      ids_.emplace(piece, id_of(id, piece));
    }
    if (!optional(model, "unk_token").is_null()) {
      file_.model_unknown = known(word(model, "unk_token"), "its unk_token is");
    }
  }

  void read_added() {
    const ByteLevelJson list = optional(document_, "added_tokens");
    if (list.is_null()) return;
    require(list.is_array(), "its \"added_tokens\" are no list");
    for (const ByteLevelJson& entry : list) {
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
  void read_merges(const ByteLevelJson& list) {
    require(list.is_array(), "its \"merges\" are no list");
    file_.merges.reserve(list.size());
    for (const ByteLevelJson& entry : list) {
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

  void read_normalizer(const ByteLevelJson& normalizer) {
    if (normalizer.is_null()) return;
    require(normalizer.is_object(), "its normalizer is no object");
    const std::string type = word(normalizer, "type");
    if (type == "Sequence") {
      const ByteLevelJson list = optional(normalizer, "normalizers");
      require(list.is_array(), "its sequence of normalizers is no list");
      for (const ByteLevelJson& entry : list) read_normalizer(entry);
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      file_.normal_forms.push_back(type);
    } else {
      refuse(fmt::format("normalises text by {}", printable(type)),
             "byte-level tokenizers with NFC, NFD, NFKC or NFKD are read");
    }
  }

  void read_cutting() {
    const ByteLevelJson cutting = optional(document_, "pre_tokenizer");
    require(cutting.is_object(), "does not cut text into words of bytes");
    bool bytes = false;
    read_step(cutting, bytes);
    require(bytes, "does not turn text into bytes (\"ByteLevel\")");
  }

  void read_step(const ByteLevelJson& step, bool& bytes) {
    require(step.is_object(), "its pre-tokenizer is no object");
    const std::string type = word(step, "type");
    if (type == "Sequence") {
      const ByteLevelJson list = optional(step, "pretokenizers");
      require(list.is_array(), "its sequence of pre-tokenizers is no list");
      for (const ByteLevelJson& entry : list) read_step(entry, bytes);
      return;
    }
    require(!bytes, "cuts text behind the step \"ByteLevel\", which is not read here");
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

  void read_split(const ByteLevelJson& step) {
    const ByteLevelJson pattern = optional(step, "pattern");
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
    // So that a pattern which cannot be read is known now.
    SplitPattern(result.pattern, location_);
    file_.steps.push_back(std::move(result));
  }

  void read_decoder() const {
    ByteLevelJson decoder = optional(document_, "decoder");
    if (optional(decoder, "type") == "Sequence") {
      const ByteLevelJson list = optional(decoder, "decoders");
      if (list.is_array() && list.size() == 1) decoder = list[0];
    }
    require(optional(decoder, "type") == "ByteLevel",
            "does not turn bytes back into text (\"decoder\" is no \"ByteLevel\")");
  }

  void read_special() {
    SpecialTokens& special = file_.special;
    read_template(optional(document_, "post_processor"));
    file_.text_start = special.classification;
    special.unknown = file_.model_unknown;
    const ByteLevelJson padding = optional(document_, "padding");
    if (const ByteLevelJson token = optional(padding, "pad_token"); token.is_string()) {
      special.padding = known(token.get<std::string>(), "pads with");
    }
    name(special.padding, {"[PAD]", "<pad>", "<|padding|>", "<|pad|>", "<|endoftext|>"});
    name(special.unknown, {"[UNK]", "<unk>"});
    name(special.mask, {"[MASK]", "<mask>", "<|mask|>"});
    name(special.separator, {"<|endoftext|>", "</s>", "[SEP]", "<|end_of_text|>"});
    // Texts that only begin with a token: documents, too.
    if (special.separator < 0) special.separator = special.classification;
    // One token in several roles (<|endoftext|>) ends documents: a generated text must find it.
    for (TokenId* const id : {&special.padding, &special.unknown, &special.classification}) {
      if (*id == special.separator) *id = -1;
    }
  }

  // The first of the names that is a special token, where nothing else has said which it is.
  void name(TokenId& id, std::initializer_list<std::string_view> names) const {
    for (const std::string_view wanted : names) {
      for (const AddedToken& token : file_.added) {
        if (id < 0 && token.special && token.content == wanted) id = token.id;
      }
    }
  }

  void read_template(const ByteLevelJson& processor) {
    if (processor.is_null()) return;
    require(processor.is_object(), "its post-processor is no object");
    const std::string type = word(processor, "type");
    if (type == "ByteLevel") return;
    if (type == "Sequence") {
      const ByteLevelJson list = optional(processor, "processors");
      require(list.is_array(), "its sequence of post-processors is no list");
      for (const ByteLevelJson& entry : list) read_template(entry);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      file_.special.classification = named_pair(processor, "cls");
      file_.special.separator = named_pair(processor, "sep");
    } else if (type == "TemplateProcessing") {
      read_single(optional(processor, "single"));
    } else {
      refuse(fmt::format("puts tokens around text by {}", printable(type)),
             "TemplateProcessing, BertProcessing and RobertaProcessing are read");
    }
  }

  // ["[CLS]", 0]
  TokenId named_pair(const ByteLevelJson& processor, const char* name) const {
    const ByteLevelJson pair = optional(processor, name);
    require(pair.is_array() && !pair.empty() && pair[0].is_string(),
            fmt::format("its \"{}\" names no token", name));
    return known(pair[0].get<std::string>(), "puts around text");
  }

  // At most one token before a text, and one behind it.
  void read_single(const ByteLevelJson& list) {
    require(list.is_array(), "its template is no list");
    SpecialTokens& special = file_.special;
    bool behind = false;
    for (const ByteLevelJson& entry : list) {
      const ByteLevelJson token = optional(entry, "SpecialToken");
      if (token.is_null()) {
        require(!behind && !optional(entry, "Sequence").is_null(),
                "its template for one text is not tokens around a text");
        behind = true;
        continue;
      }
      TokenId& id = behind ? special.separator : special.classification;
      require(id < 0, "puts more than one token before or behind a text");
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
