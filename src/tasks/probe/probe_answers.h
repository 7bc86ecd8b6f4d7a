// A model's answers to probes of length: batches of questions of one size, and the share of right
// answers.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"
#include "tasks/evaluation.h"
#include "tasks/language/language_model.h"
#include "tasks/shared_batches.h"
#include "text/tokenizer.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// How a model receives the questions of one kind.
struct ProbeForm {
  ProbeKind kind = ProbeKind::copy;
  // The id that fills the answer's positions, which are all predicted at once. If it is -1, the
  // answer itself fills them, and each character is predicted from those before it.
  std::int64_t mask = -1;

  bool masked() const { return mask >= 0; }
};
ProbeForm probe_form(const Settings& settings, const Tokenizer& tokenizer);

// The settings of a probe's model, with tables that reach to the longest test.
Settings with_room_for_tests(const Settings& settings);

struct ProbeBatch : LanguageTrainingBatch {
  std::int64_t targets_of_row = 0;
};

// Questions of one size, a function of the arguments. Masked questions leave out the line end as a
// target: it carries no information there.
ProbeBatch probe_batch(const ProbeForm& form, std::int64_t size, std::int64_t rows,
                       std::uint64_t key);

struct ProbeAnswers {
  double loss = 0;                 // of a symbol
  double right = 0;                // share of the answers that are right from begin to end
  double right_symbols = 0;        // share of their targets; causal: given the right ones before
  std::vector<bool> answers = {};  // [examples]: right or not; only with a single process
};

// Answers `examples` questions of one size, the same for every model. The processes share them. An
// answer is right if the likeliest symbol is right at all of its targets. Then greedy decoding
// would write it (given the keys of recall), or an encoder would fill it in.
ProbeAnswers probe_answers(const LanguageModel& model, const ProbeForm& form, std::int64_t size,
                           std::int64_t examples, Processes& processes,
                           const WorkProgress& progress = {});

// Throws Error (usage) for a length that holds no question, or that the kind or the scheme's tables
// cannot reach.
EvaluationResult evaluate_probe(OpenedRun run, const EvaluationRequest& request);

}  // namespace roformer
