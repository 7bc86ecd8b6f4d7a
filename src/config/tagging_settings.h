// Section `tagging` of the configuration.
#pragma once

#include <string>
#include <vector>

namespace roformer {

// How tags mark the parts of an entity: B-, I-, O; B-, I-, E-, S-, O; or one plain tag per token.
enum class TagScheme { automatic, bio, bioes, plain };

struct TaggingSettings {
  std::string tokens;  // column of the tokens (CoNLL: its number or name; JSON: the field)
  std::string tags;    // column of the tags
  TagScheme scheme = TagScheme::automatic;  // automatic: told from the tags of the training data
  std::vector<std::string> classes;  // tags in the order of the outputs; empty: those in the data
  double head_dropout = 0.1;
};

}  // namespace roformer
