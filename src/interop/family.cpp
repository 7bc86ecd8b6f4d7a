#include "interop/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "interop/families/list.h"

namespace roformer {
namespace {

nlohmann::json parse_object(const ConfigText& config) {
  nlohmann::json document = parse_json(config.text, config.file);
  if (!document.is_object()) throw_failure(config.file, "is not a JSON object");
  return document;
}

}  // namespace

std::span<const Family> all_families() {
  static const std::vector<Family> families = {
      bert_family(),       roformer_family(), modernbert_family(),  nezha_family(),
      deberta_family(),    roberta_family(),  xlm_roberta_family(), camembert_family(),
      distilbert_family(), electra_family(),  marian_family(),      t5_family(),
      t5_encoder_family(), llama_family(),    qwen2_family(),       qwen3_family(),
      mistral_family(),    gpt_neox_family(), gpt2_family(),        bloom_family(),
      mpt_family()};
  return families;
}

const Family* find_family(std::string_view type) {
  const auto families = all_families();
  const auto found = std::ranges::find(families, type, &Family::type);
  return found == families.end() ? nullptr : &*found;
}

const Family* family_of_config(const nlohmann::json& config) {
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) return nullptr;
  const std::string& name = type->get_ref<const std::string&>();
  for (const Family& family : all_families()) {
    if (family.type == name && family.claims != nullptr && family.claims(config)) return &family;
  }
  return find_family(name);
}

const Family& family_named(std::string_view type) {
  const Family* const family = find_family(type);
  ROFORMER_ASSERT(family != nullptr);
  return *family;
}

std::string known_family_types() {
  std::vector<std::string_view> types;
  for (const Family& family : all_families()) {
    if (family.claims == nullptr) types.push_back(family.type);
  }
  const std::string_view last = types.back();
  types.pop_back();
  return fmt::format("{} or {}", fmt::join(types, ", "), last);
}

std::string Family::architecture(ExportForm form) const {
  const std::string_view ending = form == ExportForm::classifier   ? "ForSequenceClassification"
                                  : form == ExportForm::tagger     ? "ForTokenClassification"
                                  : form == ExportForm::embedder   ? "Model"
                                  : !language_class.empty()        ? language_class
                                  : kind == FamilyKind::translator ? "MTModel"
                                  : kind == FamilyKind::causal     ? "ForCausalLM"
                                                                   : "ForMaskedLM";
  return std::string(classes).append(ending);
}

std::string Family::stored_name(const WeightGroup& group, std::string_view canonical) const {
  const bool head =
      &group == &language_head || &group == &classification_head || &group == &tagging_head;
  const bool plain = head || std::ranges::find(unprefixed, canonical) != unprefixed.end();
  return std::string(plain ? "" : prefix).append(canonical);
}

void Wishes::expect(bool holds, std::string problem) {
  if (holds || std::ranges::find(problems_, problem) != problems_.end()) return;
  problems_.push_back(std::move(problem));
}

void read_fields(const JsonFields& fields, FolderConfig& config) {
  for (const ConfigField& field : config.family->fields) {
    if (field.read) field.read(fields, config.settings);
  }
}

FolderConfig parse_folder_config(const ConfigText& config, const ConfigText& generation) {
  const nlohmann::json document = parse_object(config);
  const JsonFields fields(document, config.file);
  const std::string type = fields.text("model_type", "");
  if (type.empty()) {
    throw_failure(config.file, "has no \"model_type\"",
                  fmt::format("add \"model_type\": one of {}", known_family_types()));
  }
  FolderConfig result{.family = family_of_config(document), .file = config.file};
  if (result.family == nullptr) {
    fields.refuse("model_type",
                  known_family_types() + ", the architectures that this program shares");
  }
  result.has_generation = !generation.text.empty();
  const nlohmann::json search = result.has_generation ? parse_object(generation) : document;
  result.settings.model.family = result.family->type;
  result.family->parse(fields, result);
  if (result.family->parse_generation != nullptr) {
    const std::string& file = result.has_generation ? generation.file : config.file;
    result.family->parse_generation(fields, {search, file}, result);
  }
  if (result.family->kind != FamilyKind::translator) {
    result.rows.vocabulary = result.settings.model.vocabulary;
  }
  return result;
}

}  // namespace roformer
