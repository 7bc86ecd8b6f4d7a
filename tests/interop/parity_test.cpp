// Models read from Hugging Face folders compute what transformers computes from the same folders:
// logits, losses and the gradients of one step (expected.safetensors, by make_fixtures.py,
// make_nezha_fixtures.py and make_encoder_fixtures.py).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "catch.h"
#include "interop/fixtures.h"
#include "model/heads.h"

using namespace roformer;

namespace {

constexpr double kTolerance = 1e-4;

double check_gradients(const Expected& expected, const ParameterStore& parameters,
                       const PretrainedModel& model, const WeightGroup& group) {
  double largest = 0;
  compare_gradients(
      expected, parameters, model, group,
      [&](const std::string& theirs, const at::Tensor& ours, const at::Tensor& wanted) {
        CAPTURE(theirs);
        REQUIRE(ours.defined());
        REQUIRE(wanted.defined());
        CHECK(wanted.abs().max().item<double>() > 0);
        largest = std::max(largest, largest_difference(ours, wanted));
        CHECK(largest_difference(ours, wanted) < kTolerance);
      });
  return largest;
}

// ROFORMER_PARITY=1 prints the table of differences.
void print_row(const std::string& name, double logits, double loss, double gradients) {
  if (std::getenv("ROFORMER_PARITY") == nullptr) return;
  fmt::print("{:34} logits {:.1e}  loss {:.1e}  gradients {:.1e}\n", name, logits, loss, gradients);
}

std::vector<std::int64_t> first_tokens(const Expected& expected) {
  std::vector<std::int64_t> firsts;
  std::int64_t begin = 0;
  const at::Tensor lengths = expected["lengths"];
  for (std::int64_t text = 0; text < lengths.numel(); ++text) {
    firsts.push_back(begin);
    begin += lengths[text].item<std::int64_t>();
  }
  return firsts;
}

}  // namespace

TEST_CASE("masked language models give transformers' logits, loss and gradients") {
  const std::string name =
      GENERATE("bert", "roformer", "roformer_bfloat16_sharded", "bert_float16_first_names", "nezha",
               "deberta", "deberta_own_projections", "deberta_p2c", "roberta", "camembert_untied",
               "distilbert", "electra", "bert_untied", "roformer_untied", "bert_relative_key");
  CAPTURE(name);
  const Expected expected(name);
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  REQUIRE(model.has_language_head());
  ParameterStore parameters(1);
  const TransformerStack encoder(encoder_of(model.settings), parameters);
  const LanguageHead head(encoder, parameters);
  fill_parameters(parameters, model.tensors);
  parameters.flatten();
  parameters.zero_gradients();
  const TokenLayout layout = expected.layout();
  const at::Tensor all =
      encoder.forward({.ids = expected["ids"], .token_types = expected["types"], .layout = layout});
  const double logits = largest_difference(head.logits(all), expected["logits"]);
  CHECK(logits < kTolerance);

  const at::Tensor states = encoder.forward({.ids = expected["ids"],
                                             .token_types = expected["types"],
                                             .layout = layout,
                                             .rows = expected["places"]});
  const at::Tensor loss =
      head.loss(states, expected["labels"]).loss_sum / expected["labels"].numel();
  const double of_loss = largest_difference(loss, expected["loss"]);
  CHECK(of_loss < kTolerance);
  const std::vector<std::string> names = expected.file.names();
  if (std::none_of(names.begin(), names.end(),
                   [](const std::string& name) { return name.starts_with("gradient."); })) {
    return;
  }
  loss.backward();
  const double gradients =
      std::max(check_gradients(expected, parameters, model, model.family->body),
               check_gradients(expected, parameters, model, model.family->language_head));
  print_row(name, logits, of_loss, gradients);
}

TEST_CASE("classifiers give transformers' logits, loss and gradients") {
  const std::string name = GENERATE(
      "bert_classification", "roformer_classification", "nezha_classification",
      "deberta_classification", "roberta_classification", "xlm_roberta_classification",
      "distilbert_classification", "electra_classification", "bert_relative_key_classification");
  CAPTURE(name);
  const Expected expected(name);
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  CHECK(!model.has_language_head());
  REQUIRE(model.classes() == expected["logits"].size(1));
  ParameterStore parameters(1);
  const TransformerStack encoder(encoder_of(model.settings), parameters);
  const ClassificationHead head(
      {.kind = model.settings.glue.head, .outputs = model.classes(), .dropout = 0.1}, encoder,
      parameters);
  fill_parameters(parameters, model.tensors);
  parameters.flatten();
  parameters.zero_gradients();
  const TokenLayout layout = expected.layout();
  const at::Tensor states =
      encoder.forward({.ids = expected["ids"],
                       .token_types = expected["types"],
                       .layout = layout,
                       .rows = at::tensor(first_tokens(expected), at::kLong)});
  const at::Tensor logits = head.forward(states, /*training=*/false, 0);
  const double of_logits = largest_difference(logits, expected["logits"]);
  CHECK(of_logits < kTolerance);
  const at::Tensor labels = expected["labels"];
  const at::Tensor loss = model.classes() == 1 ? at::mse_loss(logits.view({-1}), labels)
                                               : at::cross_entropy_loss(logits, labels);
  const double of_loss = largest_difference(loss, expected["loss"]);
  CHECK(of_loss < kTolerance);
  loss.backward();
  double gradients = 0;
  for (const WeightGroup* group :
       {&model.family->body, &model.family->classification_head, &model.family->pooler}) {
    gradients = std::max(gradients, check_gradients(expected, parameters, model, *group));
  }
  print_row(name, of_logits, of_loss, gradients);
}

TEST_CASE("taggers give transformers' logits of every token, and its loss") {
  const auto [name, head_kind] =
      GENERATE(std::pair("bert_tagging", ClassifierHead::linear),
               std::pair("roformer_tagging", ClassifierHead::linear),
               std::pair("modernbert_tagging", ClassifierHead::modernbert));
  CAPTURE(name);
  const Expected expected(name);
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  CHECK(model.tags_words);
  CHECK(!model.has_language_head());
  CHECK(model.labels == std::vector<std::string>{"O", "B-KEY", "B-MENU", "I-KEY", "I-MENU"});
  REQUIRE(model.classes() == 5);
  ParameterStore parameters(1);
  const TransformerStack encoder(encoder_of(model.settings), parameters);
  const ClassificationHead head({.kind = head_kind, .outputs = model.classes(), .dropout = 0.1},
                                encoder, parameters);
  fill_parameters(parameters, model.tensors);
  parameters.flatten();
  const bool typed = model.settings.model.token_types > 0;
  const at::Tensor states =
      encoder.forward({.ids = expected["ids"],
                       .token_types = typed ? expected["types"] : at::Tensor(),
                       .layout = expected.layout()});
  const at::Tensor logits = head.forward(states, /*training=*/false, 0);
  CHECK(largest_difference(logits, expected["logits"]) < kTolerance);
  const at::Tensor loss =
      at::cross_entropy_loss(logits.index_select(0, expected["places"]), expected["labels"]);
  CHECK(largest_difference(loss, expected["loss"]) < kTolerance);
}

TEST_CASE("an encoder alone gives transformers' states") {
  const std::string name = GENERATE("bert_encoder", "electra_discriminator");
  const Expected expected(name);
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  CHECK(!model.has_language_head());
  CHECK(!model.has_classification_head());
  CHECK(model.tensors.contains("pooler.weight") == (name == "bert_encoder"));
  ParameterStore parameters(1);
  const TransformerStack encoder(encoder_of(model.settings), parameters);
  fill_parameters(parameters, model.tensors);
  parameters.flatten();
  const TokenLayout layout = expected.layout();
  const at::Tensor states =
      encoder.forward({.ids = expected["ids"], .token_types = expected["types"], .layout = layout});
  CHECK(largest_difference(states, expected["states"]) < kTolerance);
}
