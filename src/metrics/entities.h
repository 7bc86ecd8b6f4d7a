// Entities in sequences of tags, and how well predicted ones agree with labelled ones. Equal to
// seqeval's metrics: its default mode for BIO, its strict mode for BIOES.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// How tags become entities.
enum class EntityRule {
  // An entity also begins at an I- or E- that continues none (seqeval's default mode).
  lenient,
  // An entity is B-, any number of I-, E- of one type, or one S-; all else is none (seqeval's mode
  // strict with its scheme IOBES).
  strict_bioes,
  // Every word is an entity of its tag: precision, recall and F1 over all words are the accuracy.
  words,
};

// A tag as mark and type: "B-PER" is B and "PER", "B" is B and "_", "O" is O and "_".
struct TagParts {
  char mark = 'O';
  std::string_view type;  // points into the tag
};
TagParts tag_parts(std::string_view tag);

// The words [begin, end) of a sentence.
struct Entity {
  std::string type;
  std::size_t begin = 0, end = 0;

  auto operator<=>(const Entity&) const = default;
};
// In the order of the words.
std::vector<Entity> entities_of(const std::vector<std::string>& tags, EntityRule rule);

struct PrecisionRecall {
  double precision = 0, recall = 0, f1 = 0;
};

// An entity is right if type and both ends are. Divisions by zero give 0.
struct EntityCounts {
  std::int64_t right = 0, predicted = 0;
  std::int64_t labelled = 0;  // seqeval's support

  PrecisionRecall figures() const;
};

class EntityScores {
 public:
  explicit EntityScores(EntityRule rule) : rule_(rule) {}

  // The tags of one sentence; both have the same length.
  void add(const std::vector<std::string>& labelled, const std::vector<std::string>& predicted);

  // Every type that was labelled or predicted.
  const std::map<std::string, EntityCounts>& types() const { return types_; }
  // Over the entities of all types (seqeval's micro average).
  EntityCounts total() const;
  // The mean over the types, and their mean weighted by the labelled entities.
  PrecisionRecall macro() const;
  PrecisionRecall weighted() const;

 private:
  EntityRule rule_;
  std::map<std::string, EntityCounts> types_;
};

}  // namespace roformer
