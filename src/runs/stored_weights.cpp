#include "runs/stored_weights.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "config/task_facts.h"
#include "tasks/task_definition.h"
#include "tensor/aten.h"
#include "tensor/parameters.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace {

constexpr const char* kOfOneRun = "config.yaml and the weights must be of one run";

}  // namespace

TranslationVocabularies stored_vocabularies(const Settings& settings,
                                            const std::filesystem::path& checkpoint) {
  if (!task_facts(settings.task).has_decoder) {
    return {.source = load_tokenizer(checkpoint)->vocabulary_size()};
  }
  const TranslationTokenizers tokenizers = load_translation_tokenizers(checkpoint);
  return {.source = tokenizers.source->vocabulary_size(),
          .target = tokenizers.target->vocabulary_size(),
          .joint = tokenizers.joint};
}

void require_parameters(const Settings& settings, const TranslationVocabularies& vocabularies,
                        const Safetensors& weights) {
  const std::string location = weights.path().string();
  std::set<std::string> known;
  const ParametersOnly listed([&](const ParameterSpec& spec) {
    if (!weights.contains(spec.name)) {
      throw_failure(location, fmt::format("has no tensor \"{}\", which this model has", spec.name),
                    kOfOneRun);
    }
    const std::vector<std::int64_t>& shape = weights.entry(spec.name).shape;
    if (shape != spec.shape) {
      throw_failure(location,
                    fmt::format("\"{}\" has the shape [{}], this model's has [{}]", spec.name,
                                fmt::join(shape, ", "), fmt::join(spec.shape, ", ")),
                    kOfOneRun);
    }
    known.insert(spec.name);
  });
  // Makes the model as a command would. `listed` receives its parameters.
  task_definition(settings.task).make_model(settings, vocabularies, ComputePlan());
  for (const std::string& name : weights.names()) {
    if (known.contains(name)) continue;
    throw_failure(location, fmt::format("holds \"{}\", which this model does not have", name),
                  kOfOneRun);
  }
}

void require_finite(const std::filesystem::path& file, const std::string& name,
                    const at::Tensor& value, const std::string& hint) {
  if (!value.is_floating_point()) return;
  constexpr std::int64_t kTogether = std::int64_t{1} << 20;  // isfinite() copies its numbers
  const std::vector<at::Tensor> pieces = value.detach().flatten().split(kTogether);
  if (std::ranges::all_of(
          pieces, [](const at::Tensor& piece) { return at::isfinite(piece).all().item<bool>(); })) {
    return;
  }
  throw_failure(
      file.string(),
      fmt::format("\"{}\" holds numbers that are not finite: the training had diverged", name),
      hint);
}

}  // namespace roformer
