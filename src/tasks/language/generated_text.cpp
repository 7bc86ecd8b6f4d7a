#include "tasks/language/generated_text.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace roformer {

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

// The same, unless its last character is not whole.
std::string GeneratedText::take() {
  std::string text = added();
  if (text.empty() || text.ends_with("\xef\xbf\xbd")) return "";
  context_ = taken_;
  taken_ = ids_.size();
  return text;
}

std::string GeneratedText::begin() {
  return take();
}

std::string GeneratedText::add(std::int64_t id) {
  ROFORMER_ASSERT(!stopped_);
  ids_.push_back(id);
  held_ += take();
  for (const std::string& stop : stops_) {
    const std::size_t place = held_.find(stop);
    if (place == std::string::npos) continue;
    stopped_ = true;
    held_.resize(place);
  }
  const std::size_t whole = stopped_ ? held_.size() : possible_stop();
  return std::exchange(held_, held_.substr(whole)).substr(0, whole);
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
  std::string rest = std::exchange(held_, "");
  if (!stopped_) rest += added();
  return rest;
}

}  // namespace roformer
