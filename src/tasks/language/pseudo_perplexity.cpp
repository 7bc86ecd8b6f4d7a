#include "tasks/language/pseudo_perplexity.h"

#include <c10/core/GradMode.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "data/batches.h"
#include "metrics/language.h"
#include "training/signals.h"

namespace roformer {
namespace {

constexpr std::int64_t kTokensAtATime = 8192;  // that go through the model at a time

// The sequences of a row that do not see each other.
std::vector<std::vector<TokenId>> sequences_of(const Row& row, bool cross_documents) {
  if (cross_documents) return {row.ids};
  std::vector<std::vector<TokenId>> result;
  for (std::size_t i = 0; i < row.document_starts.size(); ++i) {
    const auto begin = row.ids.begin() + row.document_starts[i];
    const auto end = i + 1 < row.document_starts.size()
                         ? row.ids.begin() + row.document_starts[i + 1]
                         : row.ids.end();
    result.emplace_back(begin, end);
  }
  return result;
}

// The sequence once for each of the positions, with that one masked.
MaskedBatch masked_in_turn(std::span<const TokenId> sequence,
                           std::span<const std::int64_t> positions, TokenId mask) {
  MaskedBatch batch;
  batch.rows = static_cast<std::int64_t>(positions.size());
  batch.length = static_cast<std::int64_t>(sequence.size());
  for (const std::int64_t position : positions) {
    const auto begin = static_cast<std::int64_t>(batch.ids.size());
    batch.sequence_starts.push_back(begin);
    batch.ids.insert(batch.ids.end(), sequence.begin(), sequence.end());
    batch.target_positions.push_back(begin + position);
    batch.labels.push_back(sequence[static_cast<std::size_t>(position)]);
    batch.ids[static_cast<std::size_t>(begin + position)] = mask;
  }
  batch.sequence_starts.push_back(static_cast<std::int64_t>(batch.ids.size()));
  return batch;
}

}  // namespace

PseudoPerplexity pseudo_perplexity(const LanguageModel& model, const Dataset& dataset,
                                   const PseudoPerplexityOptions& options) {
  const c10::AutoGradMode no_gradient(false);
  const Tokenizer& tokenizer = dataset.tokenizer();
  const Rows rows(dataset, options.split, {.length = options.length});
  PseudoPerplexity result{.sequences = std::min(options.sequences, rows.size())};
  ProgressBar bar("masking each token in turn", static_cast<std::uint64_t>(result.sequences),
                  "sequences");
  double sum = 0;
  for (std::int64_t number = 0; number < result.sequences; ++number) {
    if (StopSignals::received() != 0) throw ValidationStopped();
    for (const auto& sequence : sequences_of(rows[number], options.cross_documents)) {
      std::vector<std::int64_t> positions;
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        if (!tokenizer.is_special(sequence[i])) positions.push_back(static_cast<std::int64_t>(i));
      }
      const auto length = static_cast<std::int64_t>(sequence.size());
      const auto step =
          static_cast<std::size_t>(std::max<std::int64_t>(1, kTokensAtATime / length));
      for (std::size_t begin = 0; begin < positions.size(); begin += step) {
        const auto part =
            std::span(positions).subspan(begin, std::min(step, positions.size() - begin));
        const LanguageBatch batch = to_device(
            masked_in_turn(sequence, part, tokenizer.special().mask), model.plan().device);
        const CrossEntropy loss =
            model.loss(batch, {.training = false}, Positions::range(options.shift, length));
        sum += loss.losses.sum().item<double>();
        result.tokens += static_cast<std::int64_t>(part.size());
      }
    }
    bar.advance_to(static_cast<std::uint64_t>(number) + 1);
  }
  bar.finish(static_cast<std::uint64_t>(result.sequences));
  if (result.tokens == 0) {
    throw_failure(dataset.folder().string(),
                  fmt::format("the {} split does not fill one row", to_string(options.split)),
                  "a smaller --length, or prepare more text");
  }
  result.loss = sum / static_cast<double>(result.tokens);
  result.value = perplexity(result.loss);
  return result;
}

}  // namespace roformer
