// The settings that a scheme's check may read, and the way in which it reports conflicts.
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
  // The use of a scheme that is checked: in a model, or in one half of a translator.
  struct Use {
    const PositionSettings& position;
    std::string choice = "position.scheme";  // the key that chooses the scheme
    bool causal = false;                     // each token sees only the tokens before it
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

  bool both_sides() const { return !use_.causal; }  // each token also sees the tokens after it
  std::string task() const;
  std::int64_t head_width() const { return settings_.model.features_of_head(); }
  // False if the heads do not divide the width; another check reports that.
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

// Rules that several schemes share.

// The table of `rows` positions must hold rows of data.length; `options` decide its size.
void check_table(const SchemeCheck& check, std::int64_t rows,
                 const std::vector<std::string>& options = {"length"});
// Checks T5's buckets, whose options are named `buckets` and `max_distance`.
void check_buckets(const SchemeCheck& check, std::int64_t buckets, std::int64_t max_distance);
// Checks that whole heads divide into pairs of features for the rotation.
void check_pairs_of_head(const SchemeCheck& check);

}  // namespace roformer
