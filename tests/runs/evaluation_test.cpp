// What evaluation says of a model, against the plain way, and what it must not depend on.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "catch.h"
#include "data/batches.h"
#include "runs/tiny_run.h"
#include "tasks/language/language_evaluation.h"

using namespace roformer;

namespace {

// An untrained model with weights large enough for positions to matter.
struct Evaluated {
  TinyRun run;
  Dataset dataset;
  LanguageModel model;

  explicit Evaluated(const std::string& position, const std::vector<Override>& overrides = {})
      : run(position, overrides),
        dataset(run.data()),
        model(run.settings, dataset.tokenizer().vocabulary_size(), ComputePlan{}) {
    const c10::AutoGradMode no_gradient(false);
    for (const Parameter& parameter : model.parameters().all()) {
      if (parameter.spec.decay) at::Tensor(parameter.value).mul_(8);
    }
  }

  LanguageEvaluation evaluate(const EvaluationOptions& options = {}) const {
    return evaluate_language_model(model, run.settings, dataset, options);
  }
  double loss(const ArrangementSettings& arrangement = {}) const {
    return evaluate({.arrangement = arrangement}).loss;
  }
};

}  // namespace

TEST_CASE("relative schemes do not see a shift of the text, absolute ones do") {
  for (const std::string name : {"rope", "alibi", "t5", "shaw", "none"}) {
    DYNAMIC_SECTION(name) {
      const Evaluated evaluated(name);
      CHECK(evaluated.loss({.shift = 1000}) == Approx(evaluated.loss()).epsilon(1e-5));
    }
  }
  const Evaluated sinusoidal("sinusoidal");
  CHECK(std::abs(sinusoidal.loss({.shift = 1000}) - sinusoidal.loss()) > 1e-3);
}

TEST_CASE("a bidirectional model without positions does not see shuffled blocks, one with does") {
  const ArrangementSettings shuffled{.shuffle_blocks = 4};
  const Evaluated none("none");
  CHECK(none.loss(shuffled) == Approx(none.loss()).epsilon(1e-5));
  const Evaluated rope("rope");
  CHECK(std::abs(rope.loss(shuffled) - rope.loss()) > 1e-4);
}

TEST_CASE("a causal model loses nothing before the dropped middle") {
  const Evaluated evaluated("rope", {{"task", "causal_lm"}});
  const LanguageEvaluation plain = evaluated.evaluate();
  const LanguageEvaluation dropped = evaluated.evaluate({.arrangement = {.drop_middle = 0.5}});
  REQUIRE(plain.losses_by_position.size() == 32);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(dropped.losses_by_position[i] == Approx(plain.losses_by_position[i]).epsilon(1e-5));
  }
  for (std::size_t i = 8; i < 24; ++i) CHECK(dropped.targets_by_position[i] == 0);
  CHECK(std::abs(dropped.losses_by_position[30] - plain.losses_by_position[30]) > 1e-5);
  CHECK(dropped.tokens == plain.tokens / 2);
}

TEST_CASE("losses of the targets weigh up to the loss, at any length") {
  const Evaluated evaluated("rope");
  for (const std::int64_t length : {16, 64}) {
    const LanguageEvaluation result = evaluated.evaluate({.length = length, .tokens = 320});
    double sum = 0;
    std::int64_t targets = 0;
    for (std::size_t i = 0; i < result.losses_by_position.size(); ++i) {
      if (result.targets_by_position[i] == 0) continue;
      sum += result.losses_by_position[i] * static_cast<double>(result.targets_by_position[i]);
      targets += result.targets_by_position[i];
    }
    CHECK(result.losses_by_position.size() == static_cast<std::size_t>(length));
    CHECK(targets == result.targets);
    CHECK(sum / static_cast<double>(targets) == Approx(result.loss));
    CHECK(result.tokens == 320);
  }
}

TEST_CASE("a loss has a standard error, and a difference on the same targets a smaller one") {
  for (const char* const task : {"mlm", "causal_lm"}) {
    CAPTURE(task);
    const Evaluated one("rope", {{"task", task}});
    const Evaluated two("rope", {{"task", task}, {"seed", "2"}});
    const LanguageEvaluation first = one.evaluate(), second = two.evaluate();
    std::int64_t targets = 0;
    for (const std::int64_t of_row : first.targets_by_row) targets += of_row;
    CHECK(targets == first.targets);
    CHECK(first.targets_by_row.size() == static_cast<std::size_t>(first.tokens / 32));
    CHECK(first.standard_error > 0);
    const PairedLosses none = compare_losses(first, first);
    CHECK(none.difference == 0);
    CHECK(none.p_value == 1);
    // The same weights, one of them moved a little: nearly all that varies is the text.
    {
      const c10::AutoGradMode no_gradient(false);
      at::Tensor weights = two.model.parameters().flat_values();
      weights.copy_(one.model.parameters().flat_values()).mul_(1.01);
    }
    const LanguageEvaluation moved = two.evaluate();
    const PairedLosses difference = compare_losses(first, moved);
    CHECK(difference.difference == Approx(moved.loss - first.loss).margin(1e-9));
    CHECK(difference.standard_error < 0.5 * first.standard_error);
    CHECK(difference.interval.low < difference.difference);
    CHECK(difference.difference < difference.interval.high);
    CHECK(difference.rows == std::ssize(first.targets_by_row));
    CHECK_THROWS_AS(compare_losses(first, one.evaluate({.length = 16})), Error);
    if (std::string(task) == "mlm") {
      const Evaluated other("rope", {{"data.masking.probability", "0.3"}});
      CHECK_THROWS_AS(compare_losses(first, other.evaluate()), Error);
    }
  }
}

TEST_CASE("bits per character count the separators of short documents") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "text.txt") << "ab\n\ncd\n\nef\n\ngh\n\n";
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  prepare({.corpus = {.inputs = {folder.path / "text.txt"}},
           .validation_inputs = {folder.path / "text.txt"},
           .output = folder.path / "data"},
          *tokenizer);
  const Dataset dataset(folder.path / "data");
  const SplitCounts& counts = dataset.description()[Split::validation].counts;
  REQUIRE(counts.documents == 4);
  REQUIRE(counts.tokens == 12);  // two letters and the end of the line
  REQUIRE(counts.characters == 12);
  // One bit a target: three of text and a separator for every three characters.
  CHECK(bits_of_character({.loss = std::log(2.0)}, dataset) == Approx(4.0 / 3));
}

TEST_CASE("shuffling asks for rows that are one sequence") {
  const Evaluated evaluated("rope", {{"data.cross_documents", "false"}});
  CHECK_THROWS_AS(evaluated.loss({.shuffle_blocks = 4}), Error);
  CHECK_NOTHROW(evaluated.loss({.shift = 3}));
}

TEST_CASE("pseudo-perplexity masks each token in turn") {
  const Evaluated evaluated("rope");
  const PseudoPerplexity result =
      pseudo_perplexity(evaluated.model, evaluated.dataset, {.sequences = 2, .length = 32});
  const c10::AutoGradMode no_gradient(false);
  const Tokenizer& tokenizer = evaluated.dataset.tokenizer();
  const Rows rows(evaluated.dataset, Split::validation, {.length = 32});
  double sum = 0;
  std::int64_t tokens = 0;
  for (std::int64_t row = 0; row < 2; ++row) {
    const Row source = rows[row];
    for (std::int64_t place = 0; place < 32; ++place) {
      std::vector<std::int64_t> ids(source.ids.begin(), source.ids.end());
      const std::int64_t label = ids[static_cast<std::size_t>(place)];
      if (tokenizer.is_special(static_cast<TokenId>(label))) continue;
      ids[static_cast<std::size_t>(place)] = tokenizer.special().mask;
      const at::Tensor logits =
          evaluated.model.logits(at::tensor(ids, at::kLong), TokenLayout::uniform(1, 32),
                                 at::tensor(std::vector<std::int64_t>{place}, at::kLong));
      sum -= at::log_softmax(logits, -1)[0][label].item<double>();
      ++tokens;
    }
  }
  CHECK(result.tokens == tokens);
  CHECK(result.loss == Approx(sum / static_cast<double>(tokens)).epsilon(1e-5));
  CHECK(result.value == Approx(std::exp(result.loss)));
}
