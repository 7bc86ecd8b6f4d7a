// The random features of linear attention in a model: redrawn in training, fixed in evaluation.
#include <ATen/ATen.h>

#include "catch.h"
#include "config/load.h"
#include "tasks/language/language_model.h"

using namespace roformer;

TEST_CASE("random features change with the training step and stay in evaluation") {
  const Settings settings = default_settings({{"model.layers", "1"},
                                              {"model.width", "16"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "16"},
                                              {"model.dropout", "0"},
                                              {"model.initialization", "0.5"},
                                              {"attention.kernel", "favor"},
                                              {"attention.redraw", "100"}});
  const LanguageModel model(settings, 20, {});
  MaskedBatch source;
  source.rows = 1;
  source.length = 8;
  source.ids = {5, 6, 7, 8, 9, 10, 11, 12};
  source.sequence_starts = {0, 8};
  source.target_positions = {2, 5};
  source.labels = {3, 4};
  const LanguageBatch batch = to_device(source, at::kCPU);
  const auto loss = [&](bool training, std::int64_t step) {
    const ForwardMode mode{.training = training, .key = 1, .step = step};
    return model.loss(batch, mode).loss_sum.item<double>();
  };
  CHECK(loss(true, 0) == loss(true, 99));
  CHECK(loss(true, 0) != loss(true, 100));
  CHECK(loss(false, 0) == loss(false, 100));
}
