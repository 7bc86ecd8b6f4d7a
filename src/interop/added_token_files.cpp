#include "interop/added_token_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "interop/folder.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> kBertTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                         "[MASK]"};

class AddedTokenReader {
 public:
  AddedTokenReader(const fs::path& folder, const std::vector<std::string>& pieces)
      : folder_(folder), pieces_(pieces) {}

  std::vector<AddedToken> read() {
    const json whole = document("tokenizer.json");
    for (const json& entry : list(whole, "added_tokens")) {
      add(entry, entry.is_object() ? entry.value("id", json()) : json(), "tokenizer.json");
    }
    const json config = document("tokenizer_config.json");
    const auto decoder = config.find("added_tokens_decoder");
    if (decoder != config.end() && decoder->is_object()) {
      for (const auto& [id, entry] : decoder->items()) {
        add(entry, number_of(id), "tokenizer_config.json");
      }
    } else {
      const json older = document("added_tokens.json");
      for (const auto& [content, id] : older.items()) {
        if (has(content)) continue;
        add({{"content", content}}, id, "added_tokens.json");
      }
    }
    for (const json& entry : list(config, "additional_special_tokens")) add_special(entry);
    std::vector<AddedToken> result;
    for (auto& [id, token] : found_) {
      if (!is_plain_bert_token(token)) result.push_back(std::move(token));
    }
    return result;
  }

 private:
  const fs::path& folder_;
  const std::vector<std::string>& pieces_;
  std::map<TokenId, AddedToken> found_;

  json document(const char* name) const {
    const fs::path file = folder_ / name;
    if (!is_there(file)) return json::object();
    json result = read_json(file);
    if (!result.is_object()) throw_failure(file.string(), "is not a JSON object");
    return result;
  }
  static json list(const json& document, const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_array() ? *found : json::array();
  }
  static json number_of(const std::string& digits) {
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && rest == end ? json(value) : json(digits);
  }

  void add(const json& entry, const json& id, const char* file) {
    const std::string location = (folder_ / file).string();
    AddedToken token = parse_added_token(entry, location);
    constexpr std::uint64_t kMost = 100'000'000;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMost) {
      throw_failure(location, fmt::format("the id of {} is {}, not a number from 0 to {}",
                                          printable(token.content), describe_json(id), kMost));
    }
    token.id = id.get<TokenId>();
    found_[token.id] = std::move(token);
  }

  // A text, or an object with the content.
  void add_special(const json& entry) {
    json token = entry.is_string() ? json{{"content", entry}} : entry;
    token["special"] = true;
    if (!token.contains("content") || !token["content"].is_string()) return;
    const std::string content = token["content"].get<std::string>();
    if (has(content)) return;
    const auto piece = std::ranges::find(pieces_, content);
    auto id = static_cast<std::uint64_t>(piece - pieces_.begin());  // the next one where it is none
    if (piece == pieces_.end() && !found_.empty()) {
      id = std::max(id, static_cast<std::uint64_t>(found_.rbegin()->first) + 1);
    }
    add(token, id, "tokenizer_config.json");
  }

  bool has(const std::string& content) const {
    return std::ranges::any_of(found_,
                               [&](const auto& entry) { return entry.second.content == content; });
  }

  static bool is_plain_bert_token(const AddedToken& token) {
    const bool named = std::ranges::find(kBertTokens, token.content) != kBertTokens.end();
    return named && !token.single_word && !token.takes_before && !token.takes_behind;
  }
};

}  // namespace

std::vector<AddedToken> read_added_tokens(const fs::path& folder,
                                          const std::vector<std::string>& pieces) {
  return AddedTokenReader(folder, pieces).read();
}

}  // namespace roformer
