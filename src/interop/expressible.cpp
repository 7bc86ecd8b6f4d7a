#include "interop/expressible.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/task_facts.h"
#include "interop/families/encoder.h"

namespace roformer {
namespace {

const Family& causal_family(const ModelSettings& model) {
  if (model.norm_kind != NormKind::rms_norm) return family_named("gpt_neox");
  if (model.query_key_norm) return family_named("qwen3");
  return family_named(model.query_key_value_bias ? "qwen2" : "llama");
}

// Null: no encoder has such positions.
const Family* encoder_family(const Settings& settings) {
  if (settings.model.norm == NormPlacement::pre && settings.model.embedding_norm) {
    return &family_named("modernbert");
  }
  for (const auto& [scheme, type] :
       {std::pair("learned", "bert"), std::pair("rope", "roformer"), std::pair("nezha", "nezha")}) {
    if (settings.position.scheme == scheme) return &family_named(type);
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& families, const Wishes& wishes) {
  throw_usage("export", fmt::format("transformers' {} cannot express this model: there, {}",
                                    families, fmt::join(wishes.problems(), "; ")));
}

[[noreturn]] void refuse_positions(const Settings& settings) {
  Wishes wishes;
  wishes.expect(false, fmt::format("positions are learned in BERT, rope in RoFormer and nezha in "
                                   "NEZHA, not {}",
                                   settings.position.scheme));
  expect_bert_layers(settings, wishes);
  refuse("BERT, RoFormer and NEZHA", wishes);
}

const Family* nearest_family(const Settings& settings) {
  const TaskFacts& task = task_facts(settings.task);
  if (task.translates) return &family_named("marian");
  return task.causal ? &causal_family(settings.model) : encoder_family(settings);
}

}  // namespace

const Family& exported_family(const Settings& settings) {
  const Family* const family = nearest_family(settings);
  if (family == nullptr) refuse_positions(settings);
  Wishes wishes;
  family->expect(settings, wishes);
  if (!wishes.problems().empty()) refuse(std::string(family->title), wishes);
  return *family;
}

std::string exported_architecture(const Settings& settings) {
  return exported_family(settings).architecture(task_facts(settings.task).predicts_labels);
}

}  // namespace roformer
