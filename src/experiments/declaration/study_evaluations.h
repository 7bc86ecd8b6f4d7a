// The `evaluate:` section of a study: every trained model is evaluated at several lengths, as it is
// and with options that leave its weights as they are.
//
//   evaluate:
//     lengths: [128, 256, 512]
//     variants:
//       - {name: window, attention.window: 128}
//       - {name: linear, scheme: rope, position.rope.scaling: linear,
//          stretch: position.rope.factor}
//
// With `split: test` the lengths are of the test set, which no training reads, and the runs have
// the losses as figures: test_loss and test_loss_at_length_N.
//
// Or, of translators: what they make of a set of the data is decoded, scored and shown side by
// side.
//
//   evaluate: {split: test, examples: 20}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/problems.h"
#include "config/yaml_file.h"

namespace roformer {

struct StudyVariant {
  std::string name;
  std::string scheme;               // only models trained with this one; empty: all
  std::vector<Override> overrides;  // keys of position.* and attention.*
  std::string stretch;              // a key that gets length over training length, at least 1
};

struct StudyEvaluations {
  std::vector<std::int64_t> lengths;  // empty: nothing is evaluated at other lengths
  std::vector<StudyVariant> variants;
  // "validation" or "test": what the lengths are of (empty: validation), or without lengths what is
  // decoded (empty: nothing).
  std::string split;
  std::int64_t sentences = 0;  // the first ones of the set; 0: all
  std::int64_t examples = 20;  // shown side by side

  bool decodes() const { return lengths.empty() && !split.empty(); }
  bool of_test() const { return !lengths.empty() && split == "test"; }
};

StudyEvaluations read_study_evaluations(const YamlFile::Section& section, Problems& problems);

}  // namespace roformer
