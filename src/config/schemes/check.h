// What a scheme's check may ask of the settings, and how it reports what does not go together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/attention_settings.h"
#include "config/check.h"
#include "config/position_facts.h"
#include "config/settings.h"

namespace roformer {

class SchemeCheck {
 public:
  // What a scheme is chosen for: a model, or one half of a translator.
  struct Use {
    const PositionSettings& position;
    std::string choice = "position.scheme";  // the key that chooses it
    bool causal = false;                     // each token sees only what precedes it
    std::int64_t layers = 0;
  };
  SchemeCheck(const Settings& settings, Use use, const Contradictions& contradictions)
      : settings_(settings), use_(std::move(use)), contradictions_(contradictions) {}

  const Settings& settings() const { return settings_; }
  const PositionSettings& position() const { return use_.position; }
  const std::string& name() const { return use_.position.scheme; }
  template <class Options>
  const Options& options() const {
    return use_.position.of<Options>();
  }

  bool both_sides() const { return !use_.causal; }  // each token sees what follows it too
  std::string task() const;
  std::int64_t head_width() const { return settings_.model.features_of_head(); }
  // False where heads do not divide the width, which is reported elsewhere.
  bool has_head_width() const {
    const ModelSettings& model = settings_.model;
    return model.head_width > 0 || model.width % model.heads == 0;
  }
  bool linear() const { return uses_linear_attention(settings_.attention); }
  std::int64_t layers() const { return use_.layers; }

  // Names of keys: "position.scheme", and "position.rope.base" for "base".
  const std::string& choice() const { return use_.choice; }
  std::string option(std::string_view name) const;
  void problem(const std::vector<std::string>& keys, std::string message,
               std::string hint = "") const;

 private:
  const Settings& settings_;
  Use use_;
  const Contradictions& contradictions_;
};

// Rules of several schemes.

// A table of `rows` positions must hold the data's length; `options` decide about its size.
void check_table(const SchemeCheck& check, std::int64_t rows,
                 const std::vector<std::string>& options = {"length"});
// T5's buckets, whose options are called `buckets` and `max_distance`.
void check_buckets(const SchemeCheck& check, std::int64_t buckets, std::int64_t max_distance);
// Whole heads are rotated in pairs of features.
void check_pairs_of_head(const SchemeCheck& check);

}  // namespace roformer
