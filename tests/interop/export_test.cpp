// What is exported is read again unchanged, holds exactly the tensors that transformers writes
// itself (the fixtures'), and what transformers cannot express is refused.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/schemes/rope.h"
#include "config/schemes/shaw.h"
#include "interop/export.h"
#include "interop/expressible.h"
#include "interop/fixtures.h"
#include "temporary_folder.h"
#include "text/word_tokenizer.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

ExportSummary export_again(const PretrainedModel& model, const Settings& settings,
                           const fs::path& folder) {
  return write_hugging_face_folder({.settings = settings,
                                    .tensors = model.tensors,
                                    .tokenizer = *model.tokenizer,
                                    .labels = model.labels},
                                   folder);
}

void check_refused(const PretrainedModel& model, const Settings& settings,
                   const std::string& words) {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(export_again(model, settings, folder.path / "out"), Contains(words));
  CHECK(!fs::exists(folder.path / "out"));
}

}  // namespace

namespace {

bool has_table(const PretrainedModel& model) {
  const std::string& scheme = model.settings.position.scheme;
  return scheme == "learned" || scheme == "shaw";
}

// A tensor that the class does not compute with.
bool is_idle(const PretrainedModel& model, const std::string& name) {
  for (const WeightGroup* group : {&model.family->body, &model.family->language_head}) {
    for (const FolderWeight& weight : expand_idle(*group, model.settings, {})) {
      if (model.family->stored_name(*group, weight.parts[0].theirs) == name) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("an export holds the tensors of the folder that was read") {
  const std::string name =
      GENERATE("bert", "roformer", "nezha", "bert_classification", "roformer_classification",
               "nezha_classification", "roberta", "roberta_classification",
               "xlm_roberta_classification", "camembert_untied", "distilbert",
               "distilbert_classification", "electra", "electra_classification", "bert_untied",
               "roformer_untied", "bert_relative_key", "bert_relative_key_classification");
  CAPTURE(name);
  PretrainedModel model = read_hugging_face_folder(model_folder(name));
  Settings settings = model.settings;
  settings.task = model.has_language_head() ? TaskKind::mlm : TaskKind::glue;
  const TemporaryFolder folder;
  const fs::path out = folder.path / "new" / "out";
  const ExportSummary summary = export_again(model, settings, out);
  const auto json = [](const fs::path& file) { return nlohmann::json::parse(read_file(file)); };
  const nlohmann::json theirs = json(model_folder(name) / "config.json");
  const nlohmann::json ours = json(out / "config.json");
  CHECK(summary.architecture == theirs["architectures"][0]);
  for (const auto& [key, value] : theirs.items()) {
    // Not about the model, or longer here: rotary positions have no table that would end.
    if (!ours.contains(key) || (key == "max_position_embeddings" && !has_table(model))) continue;
    CAPTURE(key);
    if (key != "classifier_dropout" && !value.is_null()) CHECK(ours[key] == value);
  }
  const Safetensors wanted(model_folder(name)), written(out);
  CHECK(written.names() == wanted.names());
  CHECK(written.metadata().at("format") == "pt");
  for (const std::string& tensor : wanted.names()) {
    CAPTURE(tensor);
    at::Tensor value = written.tensor(tensor);
    if (tensor.ends_with("embed_positions.weight")) value = value.narrow(0, 0, 16);
    if (is_idle(model, tensor)) continue;
    at::Tensor theirs = wanted.tensor(tensor);
    if (model.family->pads_positions && tensor.ends_with("position_embeddings.weight")) {
      CHECK(value.narrow(0, 0, 2).abs().max().item<double>() == 0);
      value = value.narrow(0, 2, 16), theirs = theirs.narrow(0, 2, 16);
    }
    CHECK(largest_difference(value, theirs) < 1e-6);
  }
  // The tokenizer gives token types to classes that have two.
  const bool typed = model.family->type != "distilbert" && model.settings.model.token_types != 1;
  const nlohmann::json inputs = json(out / "tokenizer_config.json")["model_input_names"];
  CHECK((std::ranges::find(inputs, "token_type_ids") != inputs.end()) == typed);
  CHECK(read_file(out / "vocab.txt") == read_file(model_folder(name) / "vocab.txt"));
  const PretrainedModel again = read_hugging_face_folder(out);
  CHECK(again.labels == (model.has_language_head() ? std::vector<std::string>{}
                         : model.labels.empty()    ? std::vector<std::string>{"LABEL_0"}
                                                   : model.labels));
  CHECK(again.tokenizer->fingerprint() == model.tokenizer->fingerprint());
  for (const auto& [parameter, value] : model.tensors) {
    CHECK(at::equal(again.tensors.at(parameter), value));
  }
  CHECK_THROWS_WITH(export_again(model, settings, out), Contains("exists already"));
}

TEST_CASE("an export replaces an earlier one where it is asked to, and nothing else") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("roformer"));
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  const auto write = [&](bool overwrite) {
    write_hugging_face_folder({.settings = model.settings,
                               .tensors = model.tensors,
                               .tokenizer = *model.tokenizer,
                               .labels = model.labels},
                              out, overwrite);
  };
  write(true);
  const std::string config = read_file(out / "config.json");
  CHECK_THROWS_WITH(write(false), Contains("--overwrite"));
  write(true);
  CHECK(read_file(out / "config.json") == config);
  const auto keeps = [&] {
    CHECK_THROWS_WITH(write(true), Contains("is not an export as roformer wrote it"));
  };
  write_file_atomically(out / "mine.txt", "kept");
  keeps();
  CHECK(read_file(out / "mine.txt") == "kept");
  fs::remove(out / "mine.txt");
  fs::create_directory_symlink(folder.path, out / "link");
  keeps();
  fs::remove(out / "link");
  write(true);
  write_file_atomically(out / "config.json", "{}");
  keeps();
  CHECK(read_file(out / "config.json") == "{}");
  write_file_atomically(out / "config.json", config);
  fs::remove(out / "manifest.json");
  keeps();
}

TEST_CASE("a model without token types is exported with a table of zeros") {
  PretrainedModel model = read_hugging_face_folder(model_folder("roformer"));
  model.tensors.erase("embedding.types.weight");
  model.settings.model.token_types = 0;
  const TemporaryFolder folder;
  const ExportSummary summary = export_again(model, model.settings, folder.path / "out");
  REQUIRE(summary.notes.size() == 1);
  CHECK_THAT(summary.notes[0], Contains("no token types"));
  const PretrainedModel again = read_hugging_face_folder(folder.path / "out");
  CHECK(again.tensors.at("embedding.types.weight").abs().sum().item<double>() == 0);
}

TEST_CASE("an export takes the preferred family if it can express the model") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("distilbert"));
  CHECK(model.settings.model.family == "distilbert");
  const auto architecture = [&](auto edit) {
    Settings settings = model.settings;
    edit(settings);
    return exported_architecture(settings);
  };
  CHECK(architecture([](Settings&) {}) == "DistilBertForMaskedLM");
  CHECK(architecture([](Settings& s) { s.model.family = ""; }) == "BertForMaskedLM");
  CHECK(architecture([](Settings& s) { s.model.family = "roberta"; }) == "RobertaForMaskedLM");
  CHECK(architecture([](Settings& s) { s.model.family = "xlm-roberta"; }) ==
        "XLMRobertaForMaskedLM");
  CHECK(architecture([](Settings& s) { s.model.token_types = 2; }) == "BertForMaskedLM");
  CHECK(architecture([](Settings& s) { s.model.embedding_width = 8; }) == "ElectraForMaskedLM");
  CHECK(architecture([](Settings& s) { s.position.scheme = "rope"; }) == "RoFormerForMaskedLM");
  const auto classifier = [&](ClassifierHead head) {
    return architecture([=](Settings& s) {
      s.task = TaskKind::glue;
      s.model.family = "";
      s.glue.head = head;
    });
  };
  CHECK(classifier(ClassifierHead::bert) == "BertForSequenceClassification");
  CHECK(classifier(ClassifierHead::roberta) == "RobertaForSequenceClassification");
  CHECK(classifier(ClassifierHead::distilbert) == "DistilBertForSequenceClassification");
  CHECK(classifier(ClassifierHead::roformer) == "ElectraForSequenceClassification");
  CHECK_THROWS_WITH(architecture([](Settings& s) { s.model.family = "distil"; }),
                    Contains("got \"distil\", wanted bert, roformer"));
  // Distances beyond a table's end have no vectors in transformers.
  const auto relative = [&](std::int64_t left) {
    return architecture([=](Settings& s) {
      s.position.scheme = "shaw";
      s.position.of<ShawSettings>() = {.left = left, .right = left, .values = false};
    });
  };
  CHECK(relative(15) == "BertForMaskedLM");
  CHECK_THROWS_WITH(relative(14), Contains("no distance is clipped"));
}

TEST_CASE("a tokenizer of bytes is written as tokenizer.json, which gives the same ids") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("roformer"));
  const auto bytes = open_tokenizer({.kind = TokenizerKind::bytes});
  const TemporaryFolder folder;
  const ExportSummary summary = write_hugging_face_folder(
      {.settings = model.settings, .tensors = model.tensors, .tokenizer = *bytes},
      folder.path / "out");
  const nlohmann::json config =
      nlohmann::json::parse(read_file(folder.path / "out" / "tokenizer_config.json"));
  CHECK(config["tokenizer_class"] == "PreTrainedTokenizerFast");
  CHECK(config["mask_token"] == "[MASK]");
  CHECK(config["model_input_names"] ==
        nlohmann::json({"input_ids", "token_type_ids", "attention_mask"}));
  const auto again = open_tokenizer({.file = folder.path / "out" / "tokenizer.json"});
  REQUIRE(again->vocabulary_size() == bytes->vocabulary_size());
  const std::string text = "a\tB \xC3\xA9\xF0\x9F\x98\x80\n";
  CHECK(again->encode(text) == bytes->encode(text));
  CHECK(again->special().mask == bytes->special().mask);
}

TEST_CASE("a model of Chinese words is written with its dictionary, and read back") {
  PretrainedModel model = read_hugging_face_folder(model_folder("roformer"));
  const std::string vocabulary = model.tokenizer->file_contents();
  const auto words = make_word_tokenizer(word_model({.vocabulary = vocabulary,
                                                     .vocabulary_location = "vocab.txt",
                                                     .dictionary = "北京 5 ns\n大学 3\n",
                                                     .dictionary_location = "dict.txt"}),
                                         "test");
  const TemporaryFolder folder;
  const ExportSummary summary = write_hugging_face_folder(
      {.settings = model.settings, .tensors = model.tensors, .tokenizer = *words},
      folder.path / "out");
  CHECK_THAT(summary.notes.back(), Contains("dict.txt"));
  CHECK(read_file(folder.path / "out" / "vocab.txt") == vocabulary);
  CHECK_THAT(read_file(folder.path / "out" / "tokenizer_config.json"),
             Contains("RoFormerTokenizer"));
  const PretrainedModel again = read_hugging_face_folder(folder.path / "out");
  CHECK(again.tokenizer->fingerprint() == words->fingerprint());
  // Without the dictionary it is BERT's, and a note says so.
  fs::remove(folder.path / "out" / "dict.txt");
  fs::remove(folder.path / "out" / "manifest.json");
  const PretrainedModel characters = read_hugging_face_folder(folder.path / "out");
  CHECK(characters.tokenizer->kind() == TokenizerKind::wordpiece);
  CHECK_THAT(characters.notes.front(), Contains("dict.txt"));
}

TEST_CASE("what transformers cannot express is refused, all at once") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("roformer"));
  Settings settings = model.settings;
  settings.position.scheme = "alibi";
  settings.model.norm = NormPlacement::pre;
  check_refused(model, settings,
                "nezha in NEZHA and deberta in DeBERTa-v2, not alibi; layers are post-norm");
  const auto change = [&](auto edit, const std::string& words) {
    Settings changed = model.settings;
    edit(changed);
    check_refused(model, changed, words);
  };
  change([](Settings& s) { s.task = TaskKind::causal_lm; },
         "GPT-NeoX cannot express this model: there, norms come before");
  change([](Settings& s) { s.position.of<RopeSettings>().layout = RotaryLayout::half; },
         "neighbouring features");
  change([](Settings& s) { s.position.of<RopeSettings>().base = 500; }, "base is 10000");
  change([](Settings& s) { s.position.of<RopeSettings>().fraction = 0.5; }, "whole heads");
  change([](Settings& s) { s.position.of<RopeSettings>().offset = 1; }, "begin at 0");
  change([](Settings& s) { s.position.of<RopeSettings>().scaling = RopeScaling::yarn; },
         "frequency scaling");
  change([](Settings& s) { s.position.of<RopeSettings>().attention_factor = 1.2; },
         "scales neither queries nor keys");
  change([](Settings& s) { s.model.embedding_scale = EmbeddingScale::sqrt_width; },
         "embeddings are not scaled");
  change([](Settings& s) { s.attention.kernel = AttentionKernel::elu; }, "attention is a softmax");
  change([](Settings& s) { s.attention.window = 64; }, "no layer has a window");
  change([](Settings& s) { s.attention.log_n = LogNScaling::encoder; }, "with the length");
  change(
      [](Settings& s) { s.position.scheme = "learned", s.model.activation = ActivationKind::relu; },
      "no projection after its embedding");
  change(
      [](Settings& s) {
        s.task = TaskKind::glue;
        s.glue.head = ClassifierHead::bert;
      },
      "RoFormer's classification head is glue.head roformer");
  change(
      [](Settings& s) {
        s.task = TaskKind::glue;
        s.glue.head = ClassifierHead::roformer;
        s.glue.pooling = TextPooling::mean;
      },
      "reads the first token's state");
}
