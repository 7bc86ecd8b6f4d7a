// Prepares triplets for matching from one of two inputs. Published triplets are divided by their A,
// so that no text A is in two sets, and B and C are swapped by a fixed seed (in CAIL2019-SCM's
// published part B is always the closer one). Texts with a topic yield drawn triplets: a text of
// the same topic is closer than a text of another.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/matching.h"
#include "text/tokenizer.h"

namespace roformer {

struct TripletOptions {
  std::vector<std::filesystem::path> inputs;  // JSON lines
  bool skip_broken = false;                   // leaves out lines that are no objects
  std::filesystem::path output;
  bool overwrite = false;
  std::array<double, 3> shares = {0.6, 0.2, 0.2};  // of A, or of the texts, by Split
  std::uint64_t seed = 1;
  // Field names of texts with a topic; an empty topic_field means published triplets.
  std::string topic_field;
  std::string text_field = "text";
  std::int64_t per_text = 3;  // triplets with each text as A
  std::string command;        // that made them, for triplets.json
};

struct TripletCounts {
  BySplit<std::int64_t> triplets{};
  std::array<std::int64_t, 3> anchors{};  // different A
  std::int64_t swapped = 0;
  std::int64_t lonely = 0;  // texts whose topic no other text of their set has; they are only C
};

// Writes train.jsonl, validation.jsonl, test.jsonl and triplets.json, which describes them. Throws
// Error naming file:line for a line that is no triplet, and if a set would be empty.
TripletCounts make_triplets(const TripletOptions& options);

// True for a folder that make_triplets wrote.
bool holds_triplets(const std::filesystem::path& folder);
// Fingerprint of the inputs of the triplets in such a folder, in the form of hexadecimal(). Every
// division of the inputs has the same fingerprint. Throws Error (failure) if triplets.json is
// damaged.
std::string triplets_source(const std::filesystem::path& folder);

// A baseline for models: the similarity of two texts by their words, without any order. It is the
// cosine between TF-IDF vectors with the defaults of scikit-learn's TfidfVectorizer.
class BagOfWords {
 public:
  // Counts how many of the texts contain each piece.
  explicit BagOfWords(const std::vector<std::vector<TokenId>>& texts);

  // In [0, 1]; 0 if a text has no piece that was counted.
  double cosine(const std::vector<TokenId>& first, const std::vector<TokenId>& second) const;

 private:
  std::unordered_map<TokenId, double> weights_;

  // Has length 1, or is empty.
  std::unordered_map<TokenId, double> vector_of(const std::vector<TokenId>& text) const;
};

}  // namespace roformer
