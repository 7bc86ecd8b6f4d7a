// A translator's parts: names, ties, gradients, and sentences that do not see each other.
#include "model/encoder_decoder.h"
#include "distance.h"

#include "catch.h"
#include "config/position_facts.h"
#include "model/small_translator.h"
#include "tensor/operations.h"

using namespace roformer;

TEST_CASE("sentence pairs in a batch give what each pair gives alone") {
  const Sentences source({7, 7, 6, 3, 9}), target({5, 4, 4, 8, 2}, 6);
  for (const std::string& name : position_names()) {
    if (find_position_facts(name)->causal_only) continue;
    DYNAMIC_SECTION(name) {
      const SmallTranslator small(name);
      const at::Tensor together = small.model->forward({.source_ids = source.ids,
                                                        .source = source.layout,
                                                        .target_ids = target.ids,
                                                        .target = target.layout},
                                                       {});
      CHECK(together.sizes() == at::IntArrayRef({target.layout.tokens, 16}));
      std::int64_t begin = 0;
      for (std::size_t i = 0; i < source.lengths.size(); ++i) {
        const at::Tensor alone =
            small.model->forward({.source_ids = source[i],
                                  .source = TokenLayout::uniform(1, source.lengths[i]),
                                  .target_ids = target[i],
                                  .target = TokenLayout::uniform(1, target.lengths[i])},
                                 {});
        CHECK(distance(together.narrow(0, begin, target.lengths[i]), alone) < 1e-11);
        begin += target.lengths[i];
      }
    }
  }
}

TEST_CASE("a token of the target sees its source and its past, nothing else") {
  const SmallTranslator small("rope");
  Sentences source({7, 5}), target({6, 4}, 6);
  const auto run = [&] {
    return small.model->forward({.source_ids = source.ids,
                                 .source = source.layout,
                                 .target_ids = target.ids,
                                 .target = target.layout},
                                {});
  };
  const at::Tensor before = run();
  const auto changed_rows = [&] {
    const at::Tensor difference = (run() - before).abs().amax(1);
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < difference.size(0); ++i) {
      if (difference[i].item<double>() > 1e-12) rows.push_back(i);
    }
    return rows;
  };
  source.ids[8] = (source.ids[8] + 1) % SmallTranslator::kVocabulary;
  CHECK(changed_rows() == std::vector<std::int64_t>{6, 7, 8, 9});
  source.ids[8] = (source.ids[8] + SmallTranslator::kVocabulary - 1) % SmallTranslator::kVocabulary;
  target.ids[3] = (target.ids[3] + 1) % SmallTranslator::kVocabulary;
  CHECK(changed_rows() == std::vector<std::int64_t>{3, 4, 5});
}

TEST_CASE("every parameter of a translator gets a gradient, whatever is tied") {
  const bool tie_embeddings = GENERATE(true, false), tie_output = GENERATE(true, false);
  const auto norm = GENERATE(NormPlacement::post, NormPlacement::pre);
  SmallTranslator small("t5", [&](EncoderDecoderSettings& settings) {
    settings.tie_embeddings = tie_embeddings;
    settings.tie_output = tie_output;
    settings.output_bias = !tie_output;
    settings.encoder.model.norm = settings.decoder.model.norm = norm;
  });
  const Sentences source({7, 5}), target({6, 4}, 6);
  const at::Tensor rows = at::tensor({0, 2, 5, 6, 8}, at::kLong);
  const auto gradient = [&](bool shortcut) {
    small.parameters.zero_gradients();
    at::Tensor states = small.model->forward({.source_ids = source.ids,
                                              .source = source.layout,
                                              .target_ids = target.ids,
                                              .target = target.layout,
                                              .rows = shortcut ? rows : at::Tensor()},
                                             {});
    if (!shortcut) states = states.index_select(0, rows);
    small.model->logits(states).square().sum().backward();
    return small.parameters.flat_gradients().clone();
  };
  const at::Tensor all = gradient(false);
  CHECK(distance(gradient(true), all) < 1e-9 * all.abs().max().item<double>());
  for (const Parameter& parameter : small.parameters.all()) {
    CAPTURE(parameter.spec.name);
    CHECK(parameter.value.grad().abs().max().item<double>() > 0);
  }
  CHECK((small.parameters.find("embedding.tokens.weight") != nullptr) == tie_embeddings);
  CHECK((small.parameters.find("encoder.embedding.tokens.weight") != nullptr) == !tie_embeddings);
  CHECK((small.parameters.find("decoder.embedding.tokens.weight") != nullptr) == !tie_embeddings);
  CHECK((small.parameters.find("output.weight") != nullptr) == !tie_output);
  CHECK(small.parameters.find("encoder.position.bias") != nullptr);
  CHECK(small.parameters.find("decoder.position.bias") != nullptr);
  CHECK(small.parameters.find("decoder.layers.1.cross_attention.key_value.weight") != nullptr);
}

TEST_CASE("the stacks of a translator drop different numbers") {
  const SmallTranslator small("none", [](EncoderDecoderSettings& settings) {
    settings.decoder.model.dropout = settings.encoder.model.dropout = 0.5;
    settings.decoder.attention.dropout = 0.3;
    settings.decoder.activation_dropout = 0.3;
  });
  const Sentences source({7, 5}), target({6, 4}, 6);
  const auto run = [&](std::uint64_t key) {
    return small.model->forward({.source_ids = source.ids,
                                 .source = source.layout,
                                 .target_ids = target.ids,
                                 .target = target.layout},
                                {.training = true, .dropout_key = key});
  };
  CHECK(at::equal(run(1), run(1)));
  CHECK(distance(run(1), run(2)) > 0.1);
  // The same ids through both embeddings would drop the same numbers if the keys were one.
  const at::Tensor ids = at::arange(6, at::kLong);
  const TokenLayout layout = TokenLayout::uniform(1, 6);
  ParameterStore store(1, at::kDouble);
  StackSettings settings = SmallTranslator::settings("none").encoder;
  settings.model.layers = 0;
  const TransformerStack first(settings, ParameterScope(store).within("encoder."));
  const TransformerStack second(settings, ParameterScope(store).within("decoder."));
  const auto dropped = [&](const TransformerStack& stack) {
    return stack.forward({.ids = ids, .layout = layout, .training = true, .dropout_key = 9}) == 0;
  };
  CHECK_FALSE(at::equal(dropped(first), dropped(second)));
}
