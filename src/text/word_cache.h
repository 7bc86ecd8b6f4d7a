// Remembers the pieces of words that were split before: natural text repeats its words, and a
// lookup costs less than splitting. Only one thread at a time uses a cache; encode() borrows one
// from the tokenizer's pool during a call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

// Direct-mapped: a word has one slot, and a new word replaces the old one.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 30;  // bytes; longer words are not kept
  static constexpr std::size_t kMostPieces = 8;

  // Appends the word's ids: the remembered ones, or those that split() appends.
  template <class Split>
  void append(std::string_view word, std::vector<std::int32_t>& ids, Split split) {
    if (find(word, ids)) return;
    const std::size_t before = ids.size();
    split();
    insert(word, ids, before);
  }

 private:
  bool find(std::string_view word, std::vector<std::int32_t>& ids) const {
    if (word.size() > kLongestWord) return false;
    const Slot& slot = slots_[index(word)];
    if (slot.length != word.size() || std::memcmp(slot.word, word.data(), word.size()) != 0) {
      return false;
    }
    if (slot.count == 1) {
      ids.push_back(slot.ids[0]);
    } else {
      ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
    }
    return true;
  }

  // The ids from index `before` on.
  void insert(std::string_view word, const std::vector<std::int32_t>& ids, std::size_t before) {
    const std::size_t count = ids.size() - before;
    if (word.empty() || word.size() > kLongestWord || count > kMostPieces) return;
    Slot& slot = slots_[index(word)];
    slot.length = static_cast<std::uint8_t>(word.size());
    slot.count = static_cast<std::uint8_t>(count);
    std::memcpy(slot.word, word.data(), word.size());
    std::copy(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end(), slot.ids.begin());
  }

  // One cache line. Length 0 is an empty slot.
  struct alignas(64) Slot {
    std::uint8_t length = 0;
    std::uint8_t count = 0;
    char word[kLongestWord];
    std::array<std::int32_t, kMostPieces> ids;
  };
  static constexpr std::size_t kSlotBits = 16;

  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kSlotBits);

  static std::size_t index(std::string_view word) {
    std::uint64_t hash = word.size() * 0x9e3779b97f4a7c15ULL;
    const char* bytes = word.data();
    std::size_t left = word.size();
    for (; left >= 8; left -= 8, bytes += 8) {
      std::uint64_t part;
      std::memcpy(&part, bytes, 8);
      hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
      hash ^= hash >> 32;
    }
    std::uint64_t part = 0;
    for (std::size_t i = 0; i < left; ++i) {
      part = part << 8 | static_cast<unsigned char>(bytes[i]);
    }
    hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 29;
    return (hash * 0x9e3779b97f4a7c15ULL) >> (64 - kSlotBits);
  }
};

// Hands out caches; as many exist as threads encode at the same time.
class WordCachePool {
 public:
  class Lease {
   public:
    explicit Lease(WordCachePool& pool) : pool_(pool), cache_(pool.take()) {}
    ~Lease() { pool_.give_back(std::move(cache_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    WordCache& operator*() { return *cache_; }

   private:
    WordCachePool& pool_;
    std::unique_ptr<WordCache> cache_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> idle_;

  std::unique_ptr<WordCache> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<WordCache>();
    std::unique_ptr<WordCache> cache = std::move(idle_.back());
    idle_.pop_back();
    return cache;
  }
  void give_back(std::unique_ptr<WordCache> cache) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(cache));
  }
};

}  // namespace roformer
