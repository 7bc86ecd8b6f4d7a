#include "text/word_counts.h"

namespace roformer {

void WordCounts::add(std::string_view word, std::uint64_t count) {
  if (const auto found = counts_.find(word); found != counts_.end()) {
    found->second += count;
    return;
  }
  if (counts_.size() >= limit_) forget_rarest();
  counts_.emplace(word, count);
}

// At least half of the words, so that this happens seldom.
void WordCounts::forget_rarest() {
  while (counts_.size() > limit_ / 2) {
    ++forgotten_;
    std::erase_if(counts_, [&](const auto& entry) { return entry.second <= forgotten_; });
  }
}

}  // namespace roformer
