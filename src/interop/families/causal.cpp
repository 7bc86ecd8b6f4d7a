#include "interop/families/causal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "config/schemes/alibi.h"
#include "config/schemes/rope.h"
#include "interop/expressible.h"

namespace roformer {
namespace {

void require_even_rotation(const std::string& file, const Settings& settings) {
  const RopeSettings& rope = settings.position.of<RopeSettings>();
  const std::int64_t features = settings.model.features_of_head();
  const std::int64_t share = rotary_share(rope.fraction, features);
  if (share < 2 || share % 2 != 0) {
    throw_failure(file,
                  fmt::format("rotates {} of the {} features of a head, wanted an even number of "
                              "at least 2",
                              share, features));
  }
  for (const std::vector<double>* list : {&rope.short_factor, &rope.long_factor}) {
    if (list->empty() || static_cast<std::int64_t>(list->size()) == share / 2) continue;
    throw_failure(file, fmt::format("has {} factors of longrope for {} pairs of features",
                                    list->size(), share / 2));
  }
}

}  // namespace

WeightGroup projection_head(std::string_view output, std::string_view table) {
  const WeightShape shape = {Size::vocabulary, Size::width};
  return {.rows = {{output, "head.decoder.weight", shape, has_own_output}},
          .twins = {{output, table}}};
}

std::vector<ConfigField> causal_fields(const std::vector<ConfigField>& shape, bool tied,
                                       const std::vector<ConfigField>& own) {
  using Json = ConfigField::Json;
  const std::vector<ConfigField> shared = {
      epsilon("initializer_range", &ModelSettings::initialization, 0.02),
      flag("tie_word_embeddings", &ModelSettings::tie_output, tied),
      constant("bos_token_id", nullptr),
      written("eos_token_id",
              [](const ExportedConfig& c) {
                return c.ends.size() == 1 ? Json(c.ends.front())
                       : c.ends.empty()   ? Json()
                                          : Json(c.ends);
              }),
      written("pad_token_id", [](const ExportedConfig& c) { return id_or_null(c.padding); }),
      constant("torch_dtype", "float32")};
  return joined({class_fields(), shape, shared, own});
}

std::vector<ConfigField> rotary_fields(const CausalDefaults& defaults,
                                       const std::vector<ConfigField>& own) {
  return causal_fields(
      {count("vocab_size", &ModelSettings::vocabulary, defaults.vocabulary, between(1, 1 << 24)),
       count("hidden_size", &ModelSettings::width, defaults.width, between(1, 65536)),
       count("num_hidden_layers", &ModelSettings::layers, defaults.layers, between(1, 1000)),
       count("num_attention_heads", &ModelSettings::heads, defaults.heads, between(1, 1024)),
       count("intermediate_size", &ModelSettings::feed_forward, defaults.feed_forward,
             between(1, 1 << 20)),
       positions(defaults.positions, std::int64_t{1} << 30)},
      /*tied=*/false,
      joined({{probability("attention_dropout", &AttentionSettings::dropout, 0)},
              own,
              rope_fields()}));
}

void refuse_other_models(const JsonFields& fields, const FolderConfig& config) {
  const nlohmann::json* const names = fields.find("architectures");
  const bool named = names != nullptr && names->is_array() && !names->empty();
  const bool language =
      named && std::ranges::any_of(*names, [](const nlohmann::json& name) {
        const std::string text = name.is_string() ? name.get<std::string>() : "";
        return text.ends_with("ForCausalLM") || text.ends_with("Model");  // "Model": without a head
      });
  if (named && !language) {
    const nlohmann::json& first = names->front();
    fields.refuse(
        "architectures",
        fmt::format("{}, not {}: of these models only language models are read",
                    config.family->architecture(ExportForm::language_model),
                    printable(first.is_string() ? first.get<std::string>() : first.dump())));
  }
  if (fields.find("quantization_config") != nullptr) {
    fields.refuse("quantization_config", "weights that are not quantised");
  }
}

void parse_causal(const JsonFields& fields, FolderConfig& config, const CausalNames& names) {
  Settings& settings = config.settings;
  ModelSettings& model = settings.model;
  settings.task = TaskKind::causal_lm;
  model.norm = NormPlacement::pre;
  model.head = LanguageHeadKind::linear;
  read_fields(fields, config);
  if (model.head_width == 0) {
    require_divisor(fields, names.heads.c_str(), model.heads, names.width.c_str(), model.width);
  }
}

void parse_rotary(const JsonFields& fields, const RopeDefaults& rope, FolderConfig& config) {
  Settings& settings = config.settings;
  parse_causal(fields, config);
  settings.position.scheme = "rope";
  RopeDefaults defaults = rope;
  defaults.max_positions = settings.data.length;
  settings.position.of<RopeSettings>() = parse_rope(fields, defaults);
  require_even_rotation(config.file, settings);
}

void expect_causal(const Settings& settings, Wishes& wishes, const CausalExtras& extras) {
  const ModelSettings& model = settings.model;
  wishes.expect(model.norm == NormPlacement::pre, "norms come before (model.norm pre)");
  wishes.expect(model.head == LanguageHeadKind::linear,
                "the language head is one projection (model.head linear)");
  expect_plain_embedding(model, wishes);
  wishes.expect((extras.embedding_norm || !model.embedding_norm) && model.first_norm,
                "the first layer has its own norm and the embedding none "
                "(model.embedding_norm false, model.first_norm true)");
  wishes.expect(model.embedding_scale == EmbeddingScale::none,
                "embeddings are not scaled (model.embedding_scale none)");
  expect_plain_attention(settings, wishes, extras.window);
}

void expect_rotary(const Settings& settings, Wishes& wishes) {
  const bool rope = settings.position.scheme == "rope";
  wishes.expect(rope, fmt::format("positions are rope (learned in GPT-2, alibi in BLOOM and MPT), "
                                  "not {}",
                                  settings.position.scheme));
  if (!rope) return;
  const RopeSettings& options = settings.position.of<RopeSettings>();
  wishes.expect(!options.value, "values are not rotated (position.rope.value false)");
  wishes.expect(options.offset == 0, "positions begin at 0 (position.rope.offset)");
  wishes.expect(rope_scaling_name(options.scaling) != nullptr,
                "scalings are linear, dynamic_ntk, yarn, llama3 and longrope "
                "(position.rope.scaling)");
  const bool scales =
      options.scaling == RopeScaling::yarn || options.scaling == RopeScaling::longrope;
  wishes.expect(options.attention_factor == 0 || scales,
                "only yarn and longrope scale queries and keys (position.rope.attention_factor 0)");
}

void expect_causal_alibi(const Settings& settings, Wishes& wishes) {
  const AlibiSettings& alibi = settings.position.of<AlibiSettings>();
  wishes.expect(!alibi.trained, "slopes are not trained (position.alibi.trained false)");
}

void expect_gpt_layers(const Settings& settings, const std::string& title, Wishes& wishes) {
  const ModelSettings& model = settings.model;
  wishes.expect(model.norm_kind == NormKind::layer_norm,
                title + " norms are LayerNorm (model.norm_kind layer_norm)");
  wishes.expect(!is_gated(model.activation),
                title + " feed-forward part has no gate (model.activation)");
  wishes.expect(!model.parallel_residual,
                title + " sub-layers follow one another (model.parallel_residual false)");
  expect_plain_heads(model, wishes);
}

}  // namespace roformer
