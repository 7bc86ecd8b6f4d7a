#include "tasks/language/generated_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/blank.h"
#include "base/error.h"

namespace roformer {
namespace {

// U+FFFD, to which tokenizers decode an incomplete character.
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

GeneratedText::GeneratedText(const Tokenizer& tokenizer, std::vector<std::int64_t> shown,
                             const std::vector<std::string>& stops)
    : tokenizer_(tokenizer), stops_(stops), ids_(std::move(shown)) {
  ROFORMER_ASSERT(std::ranges::none_of(stops, &std::string::empty));
}

std::string GeneratedText::text_of(std::size_t begin, std::size_t end) const {
  const std::vector<TokenId> tokens(ids_.begin() + static_cast<std::ptrdiff_t>(begin),
                                    ids_.begin() + static_cast<std::ptrdiff_t>(end));
  return tokenizer_.decode(tokens);
}

// The text of the tokens that are not in the text yet.
std::string GeneratedText::added() const {
  const std::string text = text_of(context_, ids_.size());
  return text.substr(std::min(text_of(context_, taken_).size(), text.size()));
}

// The context begins with a token that has more than blanks, because those at the beginning of a
// text may be left out.
void GeneratedText::take_added() {
  if (!is_blank(text_of(taken_, ids_.size()))) context_ = taken_;
  taken_ = ids_.size();
}

std::string GeneratedText::begin() {
  std::string text = added();
  take_added();
  return text;
}

std::string GeneratedText::add(std::int64_t id) {
  ROFORMER_ASSERT(!stopped_);
  ids_.push_back(id);
  std::string text = added();
  const bool whole = !text.empty() && !text.ends_with(kReplacement);
  while (text.ends_with(kReplacement)) text.resize(text.size() - kReplacement.size());
  if (cut_at_stop(held_ + text)) return std::exchange(held_, "");
  if (whole) {
    held_ += text;
    take_added();
  }
  const std::size_t place = possible_stop();
  return std::exchange(held_, held_.substr(place)).substr(0, place);
}

// Whether the text, which follows what was returned, has a stop text. Holds what is before the one
// that ends first, and of those that end there the one that begins first.
bool GeneratedText::cut_at_stop(const std::string& text) {
  std::optional<std::pair<std::size_t, std::size_t>> first;  // end and beginning
  for (const std::string& stop : stops_) {
    const std::size_t place = text.find(stop);
    if (place == std::string::npos) continue;
    const std::pair found{place + stop.size(), place};
    if (!first || found < *first) first = found;
  }
  if (!first) return false;
  held_ = text.substr(0, first->second);
  stopped_ = true;
  return true;
}

// Where the end of what is held back begins a stop text; its size if it does not.
std::size_t GeneratedText::possible_stop() const {
  std::size_t first = held_.size();
  for (const std::string& stop : stops_) {
    const std::size_t most = std::min(held_.size(), stop.size() - 1);
    for (std::size_t length = most; length > held_.size() - first; --length) {
      if (held_.ends_with(stop.substr(0, length))) first = held_.size() - length;
    }
  }
  return first;
}

std::string GeneratedText::end() {
  if (!stopped_) {
    const std::string rest = held_ + added();
    if (!cut_at_stop(rest)) held_ = rest;
  }
  return std::exchange(held_, "");
}

}  // namespace roformer
