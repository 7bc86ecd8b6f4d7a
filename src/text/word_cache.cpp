#include "text/word_cache.h"

#include <algorithm>

namespace roformer {

WordCache::WordCache() : slots_(std::size_t{1} << kSlotBits) {}

void WordCache::insert(std::string_view word, std::span<const std::int32_t> ids) {
  if (word.empty() || word.size() > kLongestWord || ids.size() > kMostPieces) return;
  Slot& slot = slots_[index(word)];
  slot.length = static_cast<std::uint8_t>(word.size());
  slot.count = static_cast<std::uint8_t>(ids.size());
  std::memcpy(slot.word, word.data(), word.size());
  std::copy(ids.begin(), ids.end(), slot.ids.begin());
}

std::unique_ptr<WordCache> WordCachePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<WordCache> cache = std::move(idle_.back());
      idle_.pop_back();
      return cache;
    }
  }
  return std::make_unique<WordCache>();
}

void WordCachePool::give_back(std::unique_ptr<WordCache> cache) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(cache));
}

}  // namespace roformer
