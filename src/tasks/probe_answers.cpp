#include "tasks/probe_answers.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "tasks/model_setup.h"
#include "tasks/shared_batches.h"

namespace roformer {
namespace {

constexpr std::int64_t kProbeValidationTokens = 16384;        // of a batch
constexpr std::uint64_t kProbeValidationSeed = 0x70726f6265;  // the same questions in every run

// Sums over the answers of a batch, and how many symbols they have.
struct BatchSums {
  double loss = 0;
  double right = 0;
  double right_symbols = 0;
  double symbols = 0;
};

}  // namespace

ProbeForm probe_form(const Settings& settings, const Tokenizer& tokenizer) {
  return {.kind = settings.probe.kind,
          .mask = task_facts(settings.task).causal ? -1 : tokenizer.special().mask};
}

Settings with_room_for_tests(const Settings& settings) {
  Settings result = settings;
  fit_to(result.position, {.length = settings.data.length * settings.probe.longest,
                           .causal = task_facts(settings.task).causal});
  return result;
}

ProbeBatch probe_batch(const ProbeForm& form, std::int64_t size, std::int64_t rows,
                       std::uint64_t key) {
  const std::int64_t length = probe_length(form.kind, size) - 1;  // the last one predicts nothing
  std::vector<std::int64_t> ids, positions, labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    const ProbeText probe =
        make_probe(form.kind, size, random_key({key, static_cast<std::uint64_t>(row)}));
    const auto id = [&](std::size_t i) {
      return static_cast<std::int64_t>(static_cast<unsigned char>(probe.text[i]));
    };
    const std::size_t begin = ids.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) ids.push_back(id(i));
    for (const std::size_t target : probe.targets) {
      const auto place = static_cast<std::int64_t>(begin + target);
      if (form.masked() && static_cast<std::int64_t>(target) == length) continue;
      if (form.masked()) ids[begin + target] = form.mask;
      positions.push_back(place - (form.masked() ? 0 : 1));
      labels.push_back(id(target));
    }
  }
  ProbeBatch result;
  result.batch = {.ids = copy_to(ids, at::kCPU),
                  .layout = TokenLayout::uniform(rows, length),
                  .target_positions = copy_to(positions, at::kCPU),
                  .labels = copy_to(labels, at::kCPU)};
  result.target_count = static_cast<std::int64_t>(labels.size());
  result.targets_of_row = result.target_count / rows;
  result.tokens = rows * length;
  return result;
}

ProbeAnswers probe_answers(const LanguageModel& model, const ProbeForm& form, std::int64_t size,
                           std::int64_t examples, Processes& processes,
                           const WorkProgress& progress) {
  const c10::AutoGradMode no_gradient(false);
  const std::int64_t at_once =
      std::max<std::int64_t>(1, kProbeValidationTokens / probe_length(form.kind, size));
  ProbeAnswers answers;
  const auto of_batch = [&](std::int64_t n) {
    const std::int64_t done = n * at_once, rows = std::min(at_once, examples - done);
    const ProbeBatch batch =
        probe_batch(form, size, rows,
                    random_key({kProbeValidationSeed, static_cast<std::uint64_t>(size),
                                static_cast<std::uint64_t>(done)}));
    const CrossEntropy loss =
        model.loss(to_device(batch.batch, model.plan().device), {.training = false});
    const at::Tensor correct = loss.correct.view({rows, batch.targets_of_row});
    const at::Tensor whole = correct.all(1).cpu();
    for (std::int64_t row = 0; processes.alone() && row < rows; ++row) {
      answers.answers.push_back(whole[row].item<bool>());
    }
    return BatchSums{.loss = loss.losses.sum().item<double>(),
                     .right = whole.sum().item<double>(),
                     .right_symbols = correct.sum().item<double>(),
                     .symbols = static_cast<double>(batch.target_count)};
  };
  double symbols = 0;
  for (const BatchSums& batch : of_all_batches<BatchSums>(
           processes, (examples + at_once - 1) / at_once, of_batch, progress)) {
    answers.loss += batch.loss;
    answers.right += batch.right;
    answers.right_symbols += batch.right_symbols;
    symbols += batch.symbols;
  }
  answers.loss /= symbols;
  answers.right_symbols /= symbols;
  answers.right /= static_cast<double>(examples);
  return answers;
}

}  // namespace roformer
