#include "tasks/translation/translator.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "attention/linear_attention.h"
#include "base/error.h"
#include "config/position_facts.h"
#include "config/schemes/none.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

TokenLayout layout_of(const std::vector<std::int64_t>& starts) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 1; i < starts.size(); ++i) lengths.push_back(starts[i] - starts[i - 1]);
  return TokenLayout::of_lengths(lengths);
}

EncoderDecoderSettings model_settings(const Settings& settings,
                                      const TranslationVocabularies& vocabularies) {
  const TranslationSettings& translation = settings.translation;
  if (translation.tie_embeddings && !vocabularies.joint) {
    throw_usage("translation.tie_embeddings", "source and target have separate vocabularies",
                "set it to false, or prepare the data with a joint vocabulary");
  }
  EncoderDecoderSettings result{.tie_embeddings = translation.tie_embeddings,
                                .tie_output = translation.tie_output,
                                .output_bias = translation.output_bias};
  result.encoder = stack_settings(settings, vocabularies.source);
  result.encoder.activation_dropout = translation.activation_dropout;
  result.decoder = stack_settings(settings, vocabularies.target);
  result.decoder.activation_dropout = translation.activation_dropout;
  result.decoder.causal = true;
  result.decoder.cross_attention = true;
  result.decoder.position = settings.position.of_decoder();
  // By default nothing is rotated, even if the options of a scheme without rotation ask for it.
  if (settings.position.cross != "none") {
    result.decoder.cross_position = settings.position.of_cross();
  }
  result.decoder.cross_position.of<NoneSettings>().scale =
      settings.position.of<NoneSettings>().scale;
  if (translation.decoder_layers > 0) result.decoder.model.layers = translation.decoder_layers;
  // BERT has a norm on the embedding; Vaswani's translator has none.
  result.encoder.embedding_norm = false;
  result.decoder.embedding_norm = false;
  return result;
}

}  // namespace

TranslationBatch to_tensors(const ParallelBatch& batch) {
  return {.source_ids = copy_to(batch.source_ids, at::kCPU),
          .source = layout_of(batch.source_starts),
          .target_ids = copy_to(batch.target_ids, at::kCPU),
          .target = layout_of(batch.target_starts),
          .labels = copy_to(batch.labels, at::kCPU)};
}

TranslationBatch part_of(const TranslationBatch& batch, const BatchPart& part) {
  if (part.whole()) return batch;
  std::vector<std::int64_t> lengths = sequence_lengths(batch.source.blocks);
  std::ranges::transform(lengths, sequence_lengths(batch.target.blocks), lengths.begin(),
                         std::plus());
  const auto [first, last] = sequences_of(part, lengths);
  TranslationBatch result{.source = batch.source.part(first, last),
                          .target = batch.target.part(first, last)};
  const auto own = [](const at::Tensor& all, const TokenLayout& layout) {
    return all.narrow(0, layout.first_token, layout.tokens);
  };
  result.source_ids = own(batch.source_ids, result.source);
  result.target_ids = own(batch.target_ids, result.target);
  result.labels = own(batch.labels, result.target);
  return result;
}

TranslationBatch to_device(const TranslationBatch& batch, at::Device device) {
  TranslationBatch result = batch;
  for (at::Tensor* tensor : {&result.source_ids, &result.target_ids, &result.labels}) {
    *tensor = on_device(*tensor, device);
  }
  return result;
}

TranslationBatch pinned_for(const TranslationBatch& batch, at::Device device) {
  TranslationBatch result = batch;
  for (at::Tensor* tensor : {&result.source_ids, &result.target_ids, &result.labels}) {
    *tensor = pinned_for(*tensor, device);
  }
  return result;
}

Translator::Translator(const Settings& settings, const TranslationVocabularies& vocabularies,
                       const ComputePlan& plan)
    : settings_(settings),
      vocabularies_(vocabularies),
      plan_(plan),
      parameters_(settings.seed, at::kFloat, plan.device),
      model_(model_settings(settings, vocabularies), parameters_),
      longest_source_(maximal_length(settings.position)),
      longest_target_(maximal_length(settings.position.of_decoder())) {
  freeze_as_asked(settings.model, parameters_);
  parameters_.flatten();
}

Translator::Translator(const Translator& lender, ParameterStore parameters)
    : settings_(lender.settings_),
      vocabularies_(lender.vocabularies_),
      plan_(lender.plan_),
      parameters_(std::move(parameters)),
      model_(model_settings(settings_, vocabularies_), parameters_),
      longest_source_(lender.longest_source_),
      longest_target_(lender.longest_target_) {}

std::unique_ptr<Translator> Translator::borrowing() const {
  return std::unique_ptr<Translator>(new Translator(*this, ParameterStore::borrowing(parameters_)));
}

void Translator::add_to(InferenceWeights& weights) const {
  add_to(weights, weight_form(plan_.precision));
}

void Translator::add_to(InferenceWeights& weights, WeightForm form) const {
  if (!plan_.device.is_cpu()) return;
  add_projections(parameters_, form, weights);
  weights.add(model_.output_table(), form == WeightForm::bf16 ? WeightForm::fp32 : form);
  parameters_.release(model_.output_table());
}

CrossEntropy Translator::loss(const TranslationBatch& batch, const ForwardMode& mode,
                              double label_smoothing, const StackObservers& probes) const {
  const AttentionSettings& attention = model_.decoder().settings().attention;
  const at::Tensor states = model_.forward(
      {.source_ids = batch.source_ids,
       .source = batch.source,
       .target_ids = batch.target_ids,
       .target = batch.target,
       .observers = probes},
      {.training = mode.training,
       .dropout_key = mode.key,
       .feature_key = mode.training ? favor_key(attention, parameters_.seed(), mode.step) : 0,
       .precision = plan_.precision});
  return linear_cross_entropy(states, model_.output_table(), model_.output_bias(), batch.labels,
                              label_smoothing);
}

}  // namespace roformer
