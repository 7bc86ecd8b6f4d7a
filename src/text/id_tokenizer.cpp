#include "text/id_tokenizer.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/printable.h"

namespace roformer {
namespace {

constexpr std::string_view kIdModel = "roformer ids\n";
constexpr std::string_view kIdSpaces = " \t\r\n";

// The number that is the whole of the word, or -1.
std::int64_t whole_number(std::string_view word) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() ? value : -1;
}

class IdTokenizer final : public Tokenizer {
 public:
  using Tokenizer::encode;

  IdTokenizer(std::string contents, std::int64_t vocabulary)
      : contents_(std::move(contents)), vocabulary_(vocabulary) {}

  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    std::size_t begin = text.find_first_not_of(kIdSpaces);
    while (begin != std::string_view::npos) {
      const std::size_t end = std::min(text.find_first_of(kIdSpaces, begin), text.size());
      const std::string_view word = text.substr(begin, end - begin);
      const std::int64_t id = whole_number(word);
      if (id < 0 || id >= vocabulary_) {
        throw_usage(
            "text",
            fmt::format("{} is no id from 0 to {}", printable(std::string(word)), vocabulary_ - 1),
            "this model takes the ids that its own tokenizer gives: \"17 4 25\"");
      }
      ids.push_back(static_cast<TokenId>(id));
      begin = text.find_first_not_of(kIdSpaces, end);
    }
  }

  std::string decode(std::span<const TokenId> ids, bool) const override {
    return fmt::format("{}", fmt::join(ids, " "));
  }

  std::int64_t vocabulary_size() const override { return vocabulary_; }
  std::string piece(TokenId id) const override {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_);
    return std::to_string(id);
  }
  const SpecialTokens& special() const override { return special_; }
  bool begins_word(TokenId) const override { return true; }
  TokenizerKind kind() const override { return TokenizerKind::ids; }
  const std::string& file_contents() const override { return contents_; }
  std::string description() const override { return fmt::format("ids below {}", vocabulary_); }

 private:
  std::string contents_;
  std::int64_t vocabulary_;
  SpecialTokens special_;
};

}  // namespace

std::string id_model(std::int64_t vocabulary) {
  return fmt::format("{}{}\n", kIdModel, vocabulary);
}

bool is_id_model(std::string_view contents) {
  return contents.starts_with(kIdModel);
}

std::unique_ptr<Tokenizer> make_id_tokenizer(std::string contents, const std::string& location) {
  std::int64_t vocabulary = -1;
  if (is_id_model(contents) && contents.ends_with('\n')) {
    const std::string_view text = contents;
    vocabulary = whole_number(text.substr(kIdModel.size(), text.size() - kIdModel.size() - 1));
  }
  if (vocabulary < 1 || vocabulary > std::numeric_limits<TokenId>::max()) {
    throw_failure(location, "does not say how many ids there are",
                  "its two lines are \"roformer ids\" and a number");
  }
  return std::make_unique<IdTokenizer>(std::move(contents), vocabulary);
}

}  // namespace roformer
