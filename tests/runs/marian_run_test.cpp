// MarianMT and T5 folders (tests/interop/make_marian_fixtures.py, make_t5_fixtures.py) become runs
// that compute and translate what transformers does with them, and translators become such folders.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "catch.h"
#include "config/schemes/t5.h"
#include "interop/import.h"
#include "runs/export_run.h"
#include "runs/import_run.h"
#include "runs/model_folders.h"
#include "runs/model_source.h"
#include "runs/tiny_translation.h"
#include "runs/train.h"
#include "runs/trained_model.h"
#include "tasks/translation/text_translator.h"
#include "tensor/safetensors.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

constexpr double kTolerance = 1e-4;

fs::path import_marian(const fs::path& from, const TemporaryFolder& folder,
                       const std::string& name = "imported") {
  return import_run(from, {{"run", name}, {"runs", folder.path.string()}}, ExistingRun::refuse)
      .path;
}

TrainedTranslator open(const fs::path& run, std::vector<Override> overrides = {}) {
  overrides.push_back({"training.precision", "fp32"});
  return open_run_of<Translator>(run, {.overrides = std::move(overrides)});
}

TextTranslator open_text(const fs::path& run, std::vector<Override> overrides = {}) {
  std::vector<TrainedTranslator> runs;
  runs.push_back(open(run, std::move(overrides)));
  return TextTranslator(std::move(runs));
}

const Family& family_of(const std::string& name) {
  return family_named(name.starts_with("t5") ? "t5" : "marian");
}

std::vector<FolderWeight> weights_of(const Family& family, const Settings& settings,
                                     std::int64_t source, std::int64_t target) {
  return expand_weights(family.body, settings,
                        {.vocabulary = source, .target = target, .decoder_table = target});
}

std::string stored_name(const Family& family, const std::string& theirs) {
  return family.stored_name(family.body, theirs);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach() - b.detach()).abs().max().item<double>();
}

TokenLayout layout_of(const at::Tensor& lengths) {
  return TokenLayout::of_lengths(
      {lengths.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(lengths.numel())});
}

// What the search finds for the lines of expected.json, as transformers' pieces.
void check_translations(const fs::path& run, const nlohmann::json& expected,
                        const std::string& beam) {
  const auto lines = expected["lines"].get<std::vector<std::string>>();
  const auto found = open_text(run, {{"decoding.beam", beam}}).translate(lines, {});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (expected["ids"][i].is_null()) continue;  // a special token written out is text here
    CAPTURE(lines[i], beam);
    CHECK(found[i].translations.at(0).pieces ==
          expected["generated"][beam][i].get<std::vector<std::string>>());
  }
}

}  // namespace

TEST_CASE("an imported translator has transformers' logits, loss and gradients") {
  const std::string name =
      GENERATE("marian", "marian_released", "marian_separate", "t5", "t5_gated");
  const Family& family = family_of(name);
  CAPTURE(name);
  const TemporaryFolder folder;
  const TrainedTranslator run = open(import_marian(model_folder(name), folder));
  const Safetensors expected(model_folder(name) / "expected.safetensors");
  const TranslationBatch batch{.source_ids = expected.tensor("source_ids"),
                               .source = layout_of(expected.tensor("source_lengths")),
                               .target_ids = expected.tensor("target_ids"),
                               .target = layout_of(expected.tensor("target_lengths")),
                               .labels = expected.tensor("labels")};
  const EncoderDecoder& model = run.model->model();
  const at::Tensor states = model.forward({.source_ids = batch.source_ids,
                                           .source = batch.source,
                                           .target_ids = batch.target_ids,
                                           .target = batch.target},
                                          {});
  CHECK(largest_difference(model.logits(states), expected.tensor("logits")) < kTolerance);
  ParameterStore& parameters = run.model->parameters();
  parameters.zero_gradients();
  const at::Tensor loss =
      run.model->loss(batch, {.training = false}).loss_sum / batch.labels.numel();
  CHECK(largest_difference(loss, expected.tensor("loss")) < kTolerance);
  loss.backward();
  for (const FolderWeight& weight :
       weights_of(family, run.settings, run.tokenizers.source->vocabulary_size(),
                  run.tokenizers.target->vocabulary_size())) {
    const at::Tensor gradient = parameters.find(weight.ours)->value.grad();
    for (std::size_t i = 0; i < weight.parts.size(); ++i) {
      const std::string& theirs = weight.parts[i].theirs;
      CAPTURE(theirs);
      const at::Tensor wanted = expected.tensor("gradient." + stored_name(family, theirs)).clone();
      at::Tensor got =
          gradient.narrow(0, static_cast<std::int64_t>(i) * wanted.size(0), wanted.size(0)).clone();
      if (weight.ours.ends_with("tokens.weight")) {  // torch trains no row of the padding
        const TokenId padding = run.tokenizers.target->special().padding;
        got[padding].zero_();
        wanted[padding].zero_();
        if (family.table_factor != nullptr) got *= family.table_factor(run.settings);
      }
      CHECK(largest_difference(got, wanted) < kTolerance);
      CHECK((wanted.abs().max().item<double>() > 0 || theirs.ends_with("k_proj.bias")));
    }
  }
}

TEST_CASE("an imported translator reads and translates as transformers' generate") {
  const std::string name =
      GENERATE("marian", "marian_released", "marian_separate", "t5", "t5_gated");
  CAPTURE(name);
  const TemporaryFolder folder;
  const fs::path run = import_marian(model_folder(name), folder);
  const nlohmann::json expected = read_json(model_folder(name) / "expected.json");
  const TrainedTranslator opened = open(run);
  CHECK(opened.settings.decoding.beam == 4);
  for (std::size_t i = 0; i < expected["lines"].size(); ++i) {
    if (expected["ids"][i].is_null()) continue;
    auto ids = opened.tokenizers.source->encode(expected["lines"][i].get<std::string>());
    ids.push_back(opened.tokenizers.source->special().separator);
    CHECK(ids == expected["ids"][i].get<std::vector<TokenId>>());
  }
  check_translations(run, expected, "1");
  check_translations(run, expected, "4");
}

// searches.json of the fixtures.
TEST_CASE("a search with transformers' options finds what its generate() finds, at its score") {
  const std::string name = GENERATE("marian", "marian_released", "marian_separate");
  const TemporaryFolder folder;
  const fs::path run = import_marian(model_folder(name), folder);
  const nlohmann::json expected = read_json(model_folder(name) / "searches.json");
  const auto lines = expected["lines"].get<std::vector<std::string>>();
  for (const nlohmann::json& search : expected["searches"]) {
    const nlohmann::json& options = search["options"];
    std::vector<Override> keys = {{"decoding.beam", std::to_string(search["beam"].get<int>())}};
    const auto set = [&](const char* theirs, const char* ours, int added = 0) {
      if (!options.contains(theirs)) return;
      const double value = options[theirs].get<double>() + added;
      keys.push_back({ours, fmt::format("{:g}", value)});
    };
    set("max_length", "decoding.longest_extra", -1);
    set("repetition_penalty", "decoding.repetition_penalty");
    set("no_repeat_ngram_size", "decoding.no_repeat_ngram");
    set("forced_bos_token_id", "decoding.first_token");
    set("length_penalty", "decoding.alpha");
    const auto found = open_text(run, keys).translate(lines, {});
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(name, search["options"].dump(), search["beam"].dump(), lines[i]);
      const TranslatedText& text = found[i].translations.at(0);
      CHECK(text.pieces == search["pieces"][i].get<std::vector<std::string>>());
      if (search["beam"] == 1) continue;
      CHECK(text.score == Approx(search["scores"][i].get<double>()).epsilon(1e-4));
    }
  }
}

TEST_CASE("a first token must be one of the vocabulary, and a given text is scored as it is") {
  const TemporaryFolder folder;
  const fs::path run = import_marian(model_folder("marian"), folder);
  CHECK_THROWS_WITH(open_text(run, {{"decoding.first_token", "4000"}}).translate({"red"}, {}),
                    Contains("decoding.first_token") && Contains("pieces"));
  const auto score = [&](std::vector<Override> keys) {
    return open_text(run, std::move(keys)).score({"the red button"}, {"der rote rote"}, {});
  };
  const double plain = score({{"decoding.free_end", "false"}})[0].translations.at(0).score;
  CHECK(score({{"decoding.repetition_penalty", "2"},
               {"decoding.no_repeat_ngram", "1"},
               {"decoding.first_token", "5"}})[0]
            .translations.at(0)
            .score == plain);
}

TEST_CASE("an imported translator is trained further") {
  const std::string name = GENERATE("marian", "marian_separate", "t5");
  CAPTURE(name);
  const TemporaryFolder folder;
  const fs::path imported = import_marian(model_folder(name), folder);
  const TranslationTokenizers tokenizers = open(imported).tokenizers;
  const TinyTranslation tiny(40, *tokenizers.source, *tokenizers.target);
  const fs::path file = folder.path / "config.yaml";
  write_file_atomically(file, "task: translation\n");
  const auto from = [&](const fs::path& source) {
    return load_settings(file,
                         {{"model.from", source.string()},
                          {"data.directory", tiny.data().string()},
                          {"data.length", "32"},
                          {"training.steps", "1"},
                          {"training.batch", "4"},
                          {"training.warmup", "0"},
                          {"training.learning_rate", "1e-12"},
                          {"training.weight_decay", "0"},
                          {"training.precision", "fp32"},
                          {"decoding.sentences", "2"},
                          {"runs", folder.path.string()},
                          {"run", "further"}},
                         model_source_keys);
  };
  train_run(from(imported), ExistingRun::refuse);
  const Safetensors trained(find_checkpoint(folder.path / "further") / "model.safetensors");
  for (const auto& [parameter, value] : read_hugging_face_folder(model_folder(name)).tensors) {
    CAPTURE(parameter);
    CHECK(at::allclose(trained.tensor(parameter), value, 0, 1e-9));
  }
  // The folder itself brings no way to read text in this task.
  CHECK_THROWS_WITH(from(model_folder(name)), Contains("roformer import"));
}

TEST_CASE("a translator starts no model of one text") {
  const TinyTranslation tiny(40);
  train_run(tiny.settings("pairs", {{"training.steps", "1"}, {"decoding.sentences", "1"}}),
            ExistingRun::refuse);
  const ModelSource source = open_model_source(tiny.folder.path / "runs" / "pairs");
  Settings settings = default_settings({});
  ParameterStore parameters(1);
  CHECK_THROWS_WITH(start_from(source, settings, parameters), Contains("is a translator"));
}

TEST_CASE("an imported translator is exported as it was") {
  const std::string name =
      GENERATE("marian", "marian_released", "marian_separate", "t5", "t5_gated");
  CAPTURE(name);
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  const ExportedRun exported = export_run(import_marian(model_folder(name), folder), "best", out);
  CHECK(exported.architecture == family_of(name).title);
  CHECK(exported.notes.empty());
  const PretrainedModel first = read_hugging_face_folder(model_folder(name));
  const PretrainedModel second = read_hugging_face_folder(out);
  CHECK(first.tensors.size() == second.tensors.size());
  for (const auto& [parameter, value] : first.tensors) {
    CAPTURE(parameter);
    CHECK(at::equal(second.tensors.at(parameter), value));
  }
  CHECK(first.source_tokenizer->fingerprint() == second.source_tokenizer->fingerprint());
  CHECK(first.tokenizer->fingerprint() == second.tokenizer->fingerprint());
  // Each key of transformers' own files that is about the model or the search.
  for (const char* file : {"config.json", "generation_config.json"}) {
    if (!fs::exists(model_folder(name) / file)) continue;
    const nlohmann::json theirs = read_json(model_folder(name) / file),
                         ours = read_json(out / file);
    for (const auto& [key, value] : theirs.items()) {
      if (!ours.contains(key) || key == "max_position_embeddings") continue;
      // transformers 5 writes true whether T5's output is the table or not.
      if (name == "t5_gated" && key == "tie_word_embeddings") continue;
      CAPTURE(file, key);
      CHECK(ours[key] == value);
    }
  }
  // The exported folder translates as the first.
  check_translations(import_marian(out, folder, "again"),
                     read_json(model_folder(name) / "expected.json"), "4");
}

TEST_CASE(
    "a translator with sinusoids in turn is exported with sines first, and computes the same") {
  const TinyTranslation tiny;
  const std::vector<Override> keys = {{"position", "sinusoidal"},
                                      {"model.norm", "post"},
                                      {"model.norm_epsilon", "1e-5"},
                                      {"translation.output_bias", "true"},
                                      {"translation.decoder_layers", "2"},
                                      {"decoding.length_penalty", "wu"},
                                      {"decoding.alpha", "0"},
                                      {"decoding.stopping", "estimate"},
                                      {"decoding.sentences", "2"},
                                      {"training.steps", "3"}};
  train_run(tiny.settings("run", keys), ExistingRun::refuse);
  const fs::path run = tiny.folder.path / "runs" / "run", out = tiny.folder.path / "out";
  const ExportedRun exported = export_run(run, "last", out);
  // Bytes are no SentencePiece; translations have a limit; the end counts at the longest length.
  REQUIRE(exported.notes.size() == 3);
  CHECK_THAT(exported.notes[0], Contains("knows only SentencePiece"));
  CHECK(read_json(out / "generation_config.json")["length_penalty"] == 0.0);

  // Filled with the exported weights, a model of the other layout says what the first does.
  std::vector<Override> other = keys;
  other.push_back({"position.sinusoidal.layout", "concat"});
  const Settings settings = tiny.settings("other", other);
  const TrainedTranslator first = open(run);
  const auto vocabulary = first.tokenizers.target->vocabulary_size();
  Translator second(settings, {.source = vocabulary, .target = vocabulary},
                    plan_compute(DeviceKind::cpu, Precision::fp32, settings.model.width));
  const Safetensors weights(out);
  const Family& family = family_named("marian");
  for (const FolderWeight& weight : weights_of(family, settings, vocabulary, vocabulary)) {
    std::vector<at::Tensor> parts;
    for (const FolderWeight::Part& part : weight.parts) {
      parts.push_back(weights.tensor(stored_name(family, part.theirs)));
    }
    second.parameters().find(weight.ours)->value.detach().copy_(at::cat(parts, 0));
  }
  second.parameters()
      .find("output.bias")
      ->value.detach()
      .copy_(weights.tensor("final_logits_bias").reshape({-1}));
  const at::Tensor ids = at::tensor({20, 33, 7, 40, 3, 50, 60, 61, 3}, at::kLong);
  const TokenLayout source = TokenLayout::of_lengths(std::vector<std::int64_t>{5, 4});
  const auto logits = [&](const EncoderDecoder& model) {
    return model.logits(model.forward(
        {.source_ids = ids, .source = source, .target_ids = ids, .target = source}, {}));
  };
  CHECK(largest_difference(logits(first.model->model()), logits(second.model())) < 1e-4);
}

TEST_CASE("a translator with T5's layers becomes a T5 folder") {
  const TinyTranslation tiny(40);
  const Settings settings = tiny.settings("t5", {{"position", "t5"},
                                                 {"position.t5.buckets", "16"},
                                                 {"position.t5.scale", "none"},
                                                 {"position.none.scale", "none"},
                                                 {"model.norm", "pre"},
                                                 {"model.norm_kind", "rms_norm"},
                                                 {"model.bias", "false"},
                                                 {"model.head_width", "6"},
                                                 {"model.activation", "geglu_tanh"},
                                                 {"model.embedding_scale", "sqrt_width"},
                                                 {"translation.decoder_layers", "2"},
                                                 {"decoding.sentences", "1"},
                                                 {"training.steps", "1"}});
  train_run(settings, ExistingRun::refuse);
  const fs::path run = tiny.folder.path / "runs" / "t5", out = tiny.folder.path / "out";
  CHECK(export_run(run, "last", out).architecture == "T5ForConditionalGeneration");
  const Settings again = read_hugging_face_settings(out);
  CHECK(again.model.head_width == 6);
  CHECK(again.model.activation == ActivationKind::geglu_tanh);
  CHECK(again.model.embedding_scale == EmbeddingScale::sqrt_width);
  CHECK(again.translation.decoder_layers == 2);
  CHECK(again.position.of<T5Settings>().buckets == 16);
  const Safetensors trained(find_checkpoint(run) / "model.safetensors"), written(out);
  const at::Tensor table = trained.tensor("embedding.tokens.weight");
  const double root = std::sqrt(static_cast<double>(settings.model.width));
  CHECK(largest_difference(written.tensor("shared.weight"), table * root) < 1e-6);
  CHECK(at::equal(written.tensor("decoder.block.0.layer.1.EncDecAttention.q.weight"),
                  trained.tensor("decoder.layers.0.cross_attention.query.weight")));
}

TEST_CASE("a translator that MarianMTModel cannot express is refused, all at once") {
  const TinyTranslation tiny(60);
  const auto refusal = [&](const std::string& name, std::vector<Override> keys) {
    keys.insert(keys.end(), {{"training.steps", "1"}, {"decoding.sentences", "1"}});
    train_run(tiny.settings(name, keys), ExistingRun::refuse);
    const fs::path out = tiny.folder.path / ("out-" + name);
    try {
      export_run(tiny.folder.path / "runs" / name, "last", out);
    } catch (const Error& error) {
      CHECK(!fs::exists(out));
      return error.parts().message;
    }
    return std::string();
  };
  CHECK_THAT(refusal("rope", {{"position", "rope"}}),
             Contains("not rope (CTranslate2") && Contains("it is post-norm"));
  CHECK_THAT(refusal("decoder", {{"position", "sinusoidal"}, {"position.decoder", "t5"}}),
             Contains("sinusoidal, not t5"));
  CHECK_THAT(
      refusal("cross", {{"position", "sinusoidal"},
                        {"position.cross", "rope"},
                        {"position.sinusoidal.scale", "2"}}),
      Contains("adds sinusoids as they are") && Contains("cross-attention has no positions"));
}
