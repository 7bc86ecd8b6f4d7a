// What the tests of sentence pairs share.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/sentence_pairs.h"
#include "fixture.h"

namespace roformer {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct CollectingPairs : PairSink {
  TextPairs pairs;
  std::vector<std::uint64_t> pages;
  void pair(const SentencePair& pair) override {
    pairs.emplace_back(pair.source, pair.target);
    pages.push_back(pair.page);
  }
};

// What the error of an action says; "none" without one.
inline std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// Writes both files: a pair a line.
inline PairSource write_pairs(const std::filesystem::path& folder, const std::string& name,
                              const TextPairs& pairs) {
  std::string source;
  std::string target;
  for (const auto& [left, right] : pairs) {
    source += left + "\n";
    target += right + "\n";
  }
  write_text(folder / (name + ".en"), source);
  write_text(folder / (name + ".de"), target);
  return {.source = folder / (name + ".en"), .target = folder / (name + ".de")};
}

}  // namespace roformer
