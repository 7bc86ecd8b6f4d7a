// Matching of texts, RoFormer's section 4.5 (CAIL2019-SCM): a pair of texts goes through the
// encoder together, [CLS] A [SEP] B [SEP], and gets one score. A triplet (A, B, C) is right when
// the closer of B and C has the higher score; a pair when the sign of its score is.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/matching.h"
#include "data/text_pairs.h"
#include "metrics/statistics.h"
#include "tasks/task_definition.h"
#include "tasks/text_model.h"
#include "text/tokenizer.h"

namespace roformer {

// A set with its pairs of texts as ids. A triplet has two pairs, the closer one first.
struct MatchingSet {
  MatchingExamples source;
  std::vector<EncodedText> texts;  // [examples * source.texts_per_example()]
};
// Reads data.directory and cuts to data.length as matching.truncation says. Warns with the number
// of texts that were cut. Throws as read_matching does.
MatchingSet load_matching_set(const Settings& settings, const Tokenizer& tokenizer, Split split);
// The same for examples in memory; the warnings call them `name`.
MatchingSet encode_matching(const Settings& settings, const Tokenizer& tokenizer,
                            MatchingExamples examples, const std::string& name);

TextModelShape matching_shape(const MatchingSettings& settings);

// One score for each pair of texts, in their order.
std::vector<double> matching_scores(const Classifier& classifier, const MatchingSet& set,
                                    const WorkProgress& progress = {},
                                    Processes& processes = *make_single_process());
// Which examples are right under these scores, [examples].
std::vector<bool> right_answers(const MatchingSet& set, const std::vector<double>& scores);
// The figures: the training loss; accuracy; collapsed, 1 if every score is the same.
std::map<std::string, double> matching_figures(const MatchingSettings& settings,
                                               const MatchingSet& set,
                                               const std::vector<double>& scores);

OpenedTask open_matching_task(const TaskSources& sources);
nlohmann::json matching_data_record(const Settings& settings);

struct MatchingShare {
  std::string name;  // "all", "257 to 512 tokens"
  std::int64_t examples = 0;
  std::int64_t right = 0;

  double accuracy() const;
  Interval interval() const;  // Wilson's, 95 %
};

struct MatchingEvaluation {
  std::map<std::string, double> figures;  // as a validation's
  std::vector<double> scores;             // of the pairs of texts
  std::vector<bool> right;                // [examples]
  MatchingShare all;
  std::vector<MatchingShare> by_length;  // of the longest text, in tokens before it was cut
  std::int64_t cut = 0;                  // pairs of texts
  // triplets with two equal scores, which do not count as right
  std::int64_t ties = 0;
};

MatchingEvaluation evaluate_matching(const Classifier& classifier, const MatchingSettings& settings,
                                     const MatchingSet& set, const WorkProgress& progress = {});

// The numbers of the worst wrong examples, at most `count`.
std::vector<std::size_t> worst_answers(const MatchingSet& set, const MatchingEvaluation& evaluation,
                                       std::size_t count);

nlohmann::ordered_json to_json(const MatchingShare& share);
nlohmann::ordered_json to_json(const MatchingEvaluation& evaluation);

}  // namespace roformer
