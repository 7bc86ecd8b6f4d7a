// Answers of a model to probes of length: batches of questions of one size, and how many it has
// right.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"
#include "data/probes.h"
#include "tasks/evaluation.h"
#include "tasks/language/language_model.h"
#include "tasks/shared_batches.h"
#include "text/tokenizer.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

// Questions of one kind as a model is given them.
struct ProbeForm {
  ProbeKind kind = ProbeKind::copy;
  // The id that stands in the answer's positions, all of them predicted at once; -1: the answer
  // stands there, each character predicted from what precedes it.
  std::int64_t mask = -1;

  bool masked() const { return mask >= 0; }
};
ProbeForm probe_form(const Settings& settings, const Tokenizer& tokenizer);

// The settings that a probe's model is made of: with tables for the longest test.
Settings with_room_for_tests(const Settings& settings);

struct ProbeBatch : LanguageTrainingBatch {
  std::int64_t targets_of_row = 0;
};

// Questions of one size; the targets of a masked one are without the line end, which says nothing
// there. A function of its arguments.
ProbeBatch probe_batch(const ProbeForm& form, std::int64_t size, std::int64_t rows,
                       std::uint64_t key);

struct ProbeAnswers {
  double loss = 0;                 // of a symbol
  double right = 0;                // share of the answers that are right from begin to end
  double right_symbols = 0;        // share of their targets; causal: behind the right ones before
  std::vector<bool> answers = {};  // [examples]: right or not; of a single process alone
};

// To `examples` questions of one size, the same for every model, dealt over the processes. An
// answer whose targets are all the likeliest ones is what greedy decoding would have written (given
// the keys of recall), or what an encoder writes in place.
ProbeAnswers probe_answers(const LanguageModel& model, const ProbeForm& form, std::int64_t size,
                           std::int64_t examples, Processes& processes,
                           const WorkProgress& progress = {});

// Throws Error (usage) for a length that holds no question, or that the kind or the scheme's tables
// do not reach.
EvaluationResult evaluate_probe(OpenedRun run, const EvaluationRequest& request);

}  // namespace roformer
