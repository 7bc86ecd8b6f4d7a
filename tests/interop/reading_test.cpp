// What is read beside the weights (shape, tokenizer, notes), and what is refused, with its words.
#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "config/schemes/learned.h"
#include "config/schemes/rope.h"
#include "interop/encoder_tokenizer.h"
#include "interop/fixtures.h"
#include "interop/folder_copy.h"
#include "temporary_folder.h"
#include "text/wordpiece_json.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

namespace {

struct Copy : FolderCopy {
  using FolderCopy::FolderCopy;
  fs::path operator/(const std::string& file) const { return folder.path / file; }
  PretrainedModel read() const { return read_hugging_face_folder(folder.path); }
};

std::string notes_of(const PretrainedModel& model) {
  std::string text;
  for (const std::string& note : model.notes) text += note + "\n";
  return text;
}

void check_config_refused(const std::string& key, const nlohmann::json& value,
                          const std::string& words) {
  CAPTURE(key, value.dump());
  const Copy copy("roformer");
  copy.set(key, value);
  CHECK_THROWS_WITH(copy.read(), Contains(words));
}

}  // namespace

TEST_CASE("config.json becomes settings") {
  CHECK(is_hugging_face_folder(model_folder("bert")));
  CHECK(!is_hugging_face_folder(model_folder(".")));
  const PretrainedModel roformer = read_hugging_face_folder(model_folder("roformer"));
  const Settings& settings = roformer.settings;
  CHECK(settings.model.layers == 2);
  CHECK(settings.model.width == 16);
  CHECK(settings.model.embedding_width == 12);
  CHECK(settings.model.vocabulary == 40);
  CHECK(settings.model.token_types == 2);
  CHECK(settings.model.norm == NormPlacement::post);
  CHECK(settings.attention.dropout == 0.1);
  CHECK(settings.position.scheme == "rope");
  CHECK(settings.position.of<RopeSettings>().layout == RotaryLayout::interleaved);
  CHECK(settings.position.of<RopeSettings>().value);
  CHECK(settings.data.length == 16);
  const PretrainedModel bert = read_hugging_face_folder(model_folder("bert_classification"));
  CHECK(bert.settings.position.scheme == "learned");
  CHECK(bert.settings.position.of<LearnedSettings>().length == 16);
  CHECK(bert.settings.model.activation == ActivationKind::gelu_tanh);
  CHECK(bert.settings.model.embedding_width == 0);
  CHECK(bert.labels == std::vector<std::string>{"no", "yes", "unknown"});
}

TEST_CASE("a table of positions begins after the rows of padding") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("roberta"));
  CHECK(model.settings.data.length == 16);
  CHECK(model.settings.position.of<LearnedSettings>().length == 16);
  const Safetensors file(model_folder("roberta"));
  CHECK(at::equal(model.tensors.at("position.table"),
                  file.tensor("roberta.embeddings.position_embeddings.weight").narrow(0, 2, 16)));
  CHECK_THAT(notes_of(model), Contains("two separators"));
  const Copy copy("roberta");
  copy.set("pad_token_id", 17);
  CHECK_THROWS_WITH(copy.read(), Contains("\"max_position_embeddings\" is 18, wanted more than"));
  copy.set("pad_token_id", 0);  // another token than the tokenizer's
  CHECK_THROWS_WITH(copy.read(),
                    Contains("\"pad_token_id\" is 0, and the tokenizer's padding is 1"));
}

TEST_CASE("heads and positions of the encoders after BERT are refused where they differ") {
  const auto refused = [](const char* model, const char* key, const nlohmann::json& value,
                          const char* words) {
    CAPTURE(model, key);
    const Copy copy(model);
    copy.set(key, value);
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  refused("roberta", "hidden_act", "relu", "wanted gelu, which the head of RoBERTa always has");
  refused("electra", "hidden_act", "gelu_new", "wanted gelu, which the head of ELECTRA always has");
  refused("roberta", "position_embedding_type", "relative_key", "wanted absolute");
  refused("electra", "position_embedding_type", "relative_key", "wanted absolute");
  refused("bert", "position_embedding_type", "relative_key_query",
          "wanted absolute or relative_key: no scheme here");
  refused("bert", "position_embedding_type", "relative_key",
          "has no tensor \"encoder.layer.0.attention.self.distance_embedding.weight\"");
  refused("distilbert", "n_heads", 3, "a divisor of \"dim\", 16");
  refused("distilbert", "is_decoder", true, "only encoders");
}

TEST_CASE("what has no place in a model of relative keys or in a discriminator is left out") {
  const PretrainedModel relative = read_hugging_face_folder(model_folder("bert_relative_key"));
  CHECK(relative.settings.position.scheme == "shaw");
  CHECK(notes_of(relative).empty());
  const PretrainedModel electra = read_hugging_face_folder(model_folder("electra_discriminator"));
  CHECK_THAT(notes_of(electra), Contains("discriminator_predictions.dense.bias"));
  CHECK(electra.settings.model.embedding_width == 12);
}

TEST_CASE("an untied head has the bias that the release computed with") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("bert_untied"));
  CHECK(!model.settings.model.tie_output);
  const Safetensors file(model_folder("bert_untied"));
  CHECK(at::equal(model.tensors.at("head.decoder.bias"),
                  file.tensor("cls.predictions.decoder.bias")));
  const Copy older("bert_untied");  // transformers 4 stores one of its two names
  older.change([](auto& tensors) { tensors.erase("cls.predictions.decoder.bias"); });
  CHECK(
      at::equal(older.read().tensors.at("head.decoder.bias"), file.tensor("cls.predictions.bias")));
  CHECK(notes_of(older.read()).empty());
  older.set("tie_word_embeddings", true);
  CHECK_THROWS_WITH(older.read(), Contains("differs from") && Contains("says that they are one"));
}

TEST_CASE("files of torch.save give the tensors that safetensors files give") {
  const std::string name = GENERATE("bert_pickle", "bert_pickle_sharded");
  CAPTURE(name);
  const PretrainedModel wanted = read_hugging_face_folder(model_folder("bert"));
  const PretrainedModel model = read_hugging_face_folder(model_folder(name));
  CHECK(model.tensors.size() == wanted.tensors.size());
  for (const auto& [parameter, value] : wanted.tensors) {
    CAPTURE(parameter);
    CHECK(at::equal(model.tensors.at(parameter), value));
  }
  CHECK(notes_of(model).empty());
  const Copy copy(name);
  const std::string last =
      name == "bert_pickle" ? "pytorch_model.bin" : "pytorch_model-00002-of-00002.bin";
  fs::resize_file(copy / last, 5000);
  CHECK_THROWS_WITH(copy.read(), Contains(last) && Contains("is not a whole archive"));
}

TEST_CASE("the tokenizer is cased as the folder says") {
  CHECK(read_hugging_face_folder(model_folder("bert")).tokenizer->description() ==
        "wordpiece uncased");
  const auto cased = read_hugging_face_folder(model_folder("bert_float16_first_names"));
  CHECK(cased.tokenizer->description() == "wordpiece cased");
  CHECK(cased.tokenizer->encode("The Buttons") == std::vector<TokenId>{5, 7, 9});
  // From tokenizer.json alone, whose normalizer does not lower.
  const auto json = read_hugging_face_folder(model_folder("bert_encoder"));
  CHECK(json.tokenizer->description() == "wordpiece cased");
  CHECK(json.tokenizer->piece(7) == "button");
  SECTION("or as its vocabulary looks") {
    for (const auto& [name, kind] : {std::pair{"bert", "wordpiece uncased"},
                                     {"bert_float16_first_names", "wordpiece cased"}}) {
      const Copy copy(name);
      fs::remove(copy / "tokenizer_config.json");
      const PretrainedModel model = copy.read();
      CHECK(model.tokenizer->description() == kind);
      CHECK_THAT(notes_of(model), Contains("from the capitals of vocab.txt"));
    }
  }
}

TEST_CASE("lower case, accents and Chinese characters are read each, and written") {
  const Copy copy("bert");
  const auto described = [&](const nlohmann::json& config) {
    copy.write("tokenizer_config.json", config.dump());
    const PretrainedModel model = copy.read();
    CHECK_THAT(notes_of(model), !Contains("accents"));
    CHECK_THAT(notes_of(model), !Contains("Chinese"));
    const TemporaryFolder out;
    std::vector<std::string> notes;
    write_encoder_tokenizer(*model.tokenizer, {.longest = 16}, out.path, notes);
    const auto written = nlohmann::json::parse(read_file(out.path / "tokenizer_config.json"));
    for (const auto& [key, value] : config.items()) {
      CAPTURE(key);
      CHECK(written[key] == value);
    }
    CHECK(read_file(out.path / "vocab.txt") == read_file(copy / "vocab.txt"));
    CHECK(read_encoder_tokenizer(out.path, notes)->fingerprint() == model.tokenizer->fingerprint());
    CHECK(notes.empty());
    return model.tokenizer->description();
  };
  CHECK(described({{"do_lower_case", true}}) == "wordpiece uncased");
  CHECK(described({{"do_lower_case", true}, {"strip_accents", nullptr}}) == "wordpiece uncased");
  CHECK(described({{"do_lower_case", true}, {"strip_accents", false}}) ==
        "wordpiece uncased, with accents");
  CHECK(described({{"do_lower_case", false}, {"strip_accents", true}}) ==
        "wordpiece cased, without accents");
  CHECK(described({{"do_lower_case", false}, {"tokenize_chinese_chars", false}}) ==
        "wordpiece cased, Chinese characters in words");
}

TEST_CASE("added tokens of a folder with a vocab.txt are found in text, wherever it names them") {
  const auto pieces = [](const fs::path& folder) {
    const std::string text = read_file(folder / "vocab.txt");
    return static_cast<TokenId>(std::ranges::count(text, '\n'));
  };
  const Copy copy("bert");
  std::vector<std::string> notes;
  const TokenId first = pieces(copy.folder.path);
  const auto read = [&] {
    notes.clear();
    auto tokenizer = read_encoder_tokenizer(copy.folder.path, notes);
    const TemporaryFolder out;
    std::vector<std::string> others;
    write_encoder_tokenizer(*tokenizer, {.longest = 16}, out.path, others);
    CHECK(read_encoder_tokenizer(out.path, others)->fingerprint() == tokenizer->fingerprint());
    return tokenizer;
  };
  const nlohmann::json lower = {{"do_lower_case", true}};
  SECTION("added_tokens_decoder of tokenizer_config.json") {
    nlohmann::json config = lower;
    config["added_tokens_decoder"] = {
        {std::to_string(first), {{"content", "<new>"}, {"normalized", true}}},
        {std::to_string(first + 1), {{"content", "[E]"}, {"special", true}}},
        {"0", {{"content", "[PAD]"}, {"special", true}}}};
    copy.write("tokenizer_config.json", config.dump());
    const auto tokenizer = read();
    CHECK(tokenizer->vocabulary_size() == first + 2);
    CHECK(tokenizer->encode("<NEW>") == std::vector<TokenId>{first});
    CHECK(tokenizer->piece(first) == "<new>");
    std::vector<TokenId> prompt;
    tokenizer->encode_prompt("[E]<new>", prompt);
    CHECK(prompt == std::vector<TokenId>{first + 1, first});
    CHECK(std::ranges::count(tokenizer->encode("[E]"), first + 1) == 0);
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], Contains("(\"[E]\") are found in prompts only"));
    config["added_tokens_decoder"][std::to_string(first + 5)] = {{"content", "gap"}};
    copy.write("tokenizer_config.json", config.dump());
    CHECK_THROWS_WITH(read(), Contains("is the next id"));
    config["added_tokens_decoder"] = {{"one", {{"content", "gap"}}}};
    copy.write("tokenizer_config.json", config.dump());
    CHECK_THROWS_WITH(read(), Contains("the id of \"gap\" is \"one\""));
  }
  SECTION("added_tokens.json, and additional_special_tokens after it") {
    nlohmann::json config = lower;
    config["additional_special_tokens"] = {"[S]", "[PAD]"};
    copy.write("tokenizer_config.json", config.dump());
    copy.write("added_tokens.json",
               nlohmann::json{{"<b>", first + 1}, {"<a>", first}, {"[MASK]", 4}}.dump());
    const auto tokenizer = read();
    CHECK(tokenizer->encode("<a><b>") == std::vector<TokenId>{first, first + 1});
    CHECK(tokenizer->vocabulary_size() == first + 3);
    std::vector<TokenId> prompt;
    tokenizer->encode_prompt("<b>[S]", prompt);
    CHECK(prompt == std::vector<TokenId>{first + 1, first + 2});
  }
  SECTION("tokenizer.json alone") {
    const Copy whole("bert_encoder");
    auto document = nlohmann::json::parse(read_file(whole / "tokenizer.json"));
    const auto next = document["model"]["vocab"].size();
    document["added_tokens"].push_back({{"id", next}, {"content", "<new>"}, {"special", false}});
    whole.write("tokenizer.json", document.dump());
    CHECK(read_encoder_tokenizer(whole.folder.path, notes)->encode("<new>") ==
          std::vector<TokenId>{static_cast<TokenId>(next)});
  }
  SECTION("none but BERT's own are nothing to keep") {
    nlohmann::json config = lower;
    config["added_tokens_decoder"] = {{"0", {{"content", "[PAD]"}, {"special", true}}}};
    copy.write("tokenizer_config.json", config.dump());
    CHECK(read()->description() == "wordpiece uncased");
  }
}

TEST_CASE("what is no part of the model is named") {
  const PretrainedModel model = read_hugging_face_folder(model_folder("bert_float16_first_names"));
  CHECK_THAT(notes_of(model), Contains("\"cls.seq_relationship.bias\""));
  CHECK_THAT(notes_of(model), !Contains("position_ids"));
  CHECK(model.tensors.contains("pooler.weight"));
  const Copy copy("bert");
  copy.set("architectures", {"BertForMultipleChoice"});
  copy.change([](auto& tensors) {
    tensors["classifier.weight"] = at::ones({5, 16});
    tensors["classifier.bias"] = at::ones({5});
  });
  CHECK(copy.read().classes() == 0);  // another head of the same name
  CHECK_THAT(notes_of(copy.read()), Contains("\"classifier.weight\""));
}

TEST_CASE("a config.json of something else is refused") {
  check_config_refused("model_type", "megatron-bert",
                       "is \"megatron-bert\", wanted bert, roformer");
  check_config_refused("num_attention_heads", nullptr, "is left at its default, wanted a divisor");
  check_config_refused("model_type", 3, "\"model_type\" is 3, wanted a text");
  check_config_refused("is_decoder", true, "only encoders");
  check_config_refused("position_embedding_type", "relative_key", "wanted absolute");
  check_config_refused("hidden_act", "tanh", "wanted one of gelu");
  check_config_refused("num_hidden_layers", 0, "wanted an integer from 1 to 1000");
  check_config_refused("num_hidden_layers", 18446744073709551615ULL, "wanted an integer");
  check_config_refused("num_hidden_layers", 2.5, "wanted an integer");
  check_config_refused("num_attention_heads", 3, "a divisor of \"hidden_size\", 16");
  check_config_refused("num_attention_heads", 16, "an even number of features");
  check_config_refused("layer_norm_eps", 0, "wanted a number above 0");
  check_config_refused("hidden_dropout_prob", 1.0, "from 0 to below 1");
  check_config_refused("id2label", {{"1", "a"}}, "names the classes");
  const Copy copy("bert");
  copy.write("config.json", "{\"hidden_size\": 16}");
  CHECK_THROWS_WITH(copy.read(), Contains("has no \"model_type\""));
  CHECK(!is_hugging_face_folder(copy.folder.path));
  copy.write("config.json", "[");
  CHECK_THROWS_WITH(copy.read(), Contains("is not JSON"));
  fs::remove(copy / "config.json");
  CHECK_THROWS_WITH(copy.read(), Contains("is no Hugging Face folder"));
  CHECK_THROWS_WITH(read_hugging_face_folder(copy / "nowhere"),
                    Contains("there is no such folder"));
}

TEST_CASE("weights that do not fit are refused") {
  const Copy copy("roformer");
  const auto refused = [&](const std::function<void(std::map<std::string, at::Tensor>&)>& edit,
                           const std::string& words) {
    const Copy spoiled("roformer");
    spoiled.change(edit);
    CHECK_THROWS_WITH(spoiled.read(), Contains(words));
  };
  const std::string query = "roformer.encoder.layer.1.attention.self.query.weight";
  refused([&](auto& t) { t.erase(query); }, "has no tensor \"encoder.layer.1");
  refused(
      [&](auto& t) {
        t[query] = at::ones({16, 15});
      },
      "\"" + query + "\" has the shape [16, 15], config.json makes it [16, 16]");
  refused(
      [&](auto& t) {
        t[query] = at::ones({16, 16}, at::kLong);
      },
      "has the type I64, wanted F32");
  refused([&](auto& t) { t[query][2][3] = std::numeric_limits<float>::quiet_NaN(); },
          "1 of the 256 values of \"" + query + "\" are NaN or infinite");
  refused(
      [&](auto& t) {
        t["roformer.encoder.layer.0.attention.self.distance_embedding.weight"] = at::ones({31, 8});
      },
      "which transformers' RoFormer does not have");
  refused([&](auto& t) { t["encoder.layer.1.attention.self.query.weight"] = t[query]; },
          "which are the same weight");
  refused(
      [&](auto& t) {
        t["cls.predictions.decoder.weight"] = at::ones({40, 12});
      },
      "config.json says that they are one");
  refused(
      [&](auto& t) {
        t["roformer.encoder.embed_positions.weight"] = at::ones({16, 8});
      },
      "are not sines and cosines of base 10000");
  copy.set("vocab_size", 41);
  CHECK_THROWS_WITH(copy.read(), Contains("config.json makes it [41, 12]"));
}

TEST_CASE("files that cannot be weights are refused") {
  const Copy copy("bert");
  fs::resize_file(copy / "model.safetensors", 20'000);
  CHECK_THROWS_WITH(copy.read(), Contains("is not a whole safetensors file"));
  fs::remove(copy / "model.safetensors");
  CHECK_THROWS_WITH(copy.read(), Contains("holds neither model.safetensors nor"));
  copy.write("pytorch_model.bin", "PK");
  CHECK_THROWS_WITH(copy.read(), Contains("another pickle") && Contains("save_pretrained"));
  const Copy shards("roformer_bfloat16_sharded");
  fs::remove(shards / "model-00002-of-00002.safetensors");
  CHECK_THROWS_WITH(shards.read(), Contains("model-00002-of-00002.safetensors"));
}

TEST_CASE("a vocabulary that does not fit the weights is refused") {
  const Copy copy("bert");
  std::ofstream(copy / "vocab.txt", std::ios::app) << "more\n";
  CHECK_THROWS_WITH(copy.read(), Contains("has 41 pieces, the weights have rows for 40"));
  copy.write("vocab.txt", "[UNK]\nthe\n");
  CHECK_THAT(notes_of(copy.read()), Contains("the weights have 40 rows, the vocabulary 2 pieces"));
  copy.write("vocab.txt", "the\n");
  CHECK_THROWS_WITH(copy.read(), Contains("is not a WordPiece vocabulary"));
  fs::remove(copy / "vocab.txt");
  CHECK_THROWS_WITH(copy.read(), Contains("has no tokenizer"));
  copy.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {}}})");
  CHECK_THROWS_WITH(copy.read(), Contains("is not a WordPiece tokenizer"));
  for (const char* vocabulary : {R"({"a": 0, "b": 2})", R"({"a": 0, "b": 0})", R"({"a": -1})"}) {
    const std::string text =
        R"({"model": {"type": "WordPiece", "vocab": )" + std::string(vocabulary) + "}}";
    CHECK_THROWS_WITH(vocabulary_of_tokenizer_json(text, "x"), Contains("otherwise than 0, 1, 2"));
  }
}

TEST_CASE("a WordPiece that cuts text otherwise than BERT's is refused, beside vocab.txt too") {
  const Copy copy("bert");
  const nlohmann::json bert = {
      {"model",
       {{"type", "WordPiece"},
        {"vocab", {{"[UNK]", 0}}},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100}}},
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"added_tokens", {{{"id", 0}, {"content", "[UNK]"}, {"special", true}}}}};
  copy.write("tokenizer.json", bert.dump());
  CHECK_NOTHROW(copy.read());
  const auto refused = [&](const char* pointer, const nlohmann::json& value, const char* words) {
    CAPTURE(pointer);
    nlohmann::json changed = bert;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    copy.write("tokenizer.json", changed.dump());
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  refused("/model/continuing_subword_prefix", "@@",
          "model.continuing_subword_prefix is \"@@\", wanted \"##\"");
  refused("/model/max_input_chars_per_word", 5, "max_input_chars_per_word is 5, wanted 100");
  refused("/model/unk_token", "[PAD]", "unk_token is \"[PAD]\"");
  refused("/pre_tokenizer/type", "WhitespaceSplit", "pre_tokenizer.type is \"WhitespaceSplit\"");
  refused("/pre_tokenizer", nullptr, "pre_tokenizer is null");
  refused("/normalizer/type", "NFKC", "normalizer.type is \"NFKC\"");
  refused("/normalizer/clean_text", false, "normalizer.clean_text is false");
}

TEST_CASE("problem_type says whether a text has one label, several or a number") {
  const Copy several("bert_classification");
  several.set("problem_type", "multi_label_classification");
  CHECK(several.read().target_kind == TargetKind::multi);
  // transformers writes no id2label for two classes of default names.
  nlohmann::json config = nlohmann::json::parse(read_file(several.folder.path / "config.json"));
  config.erase("id2label");
  several.write("config.json", config.dump());
  CHECK(several.read().target_kind == TargetKind::multi);
  CHECK(read_hugging_face_folder(model_folder("bert_classification")).target_kind ==
        TargetKind::single);
  const auto refused = [](const char* model, const char* problem, const char* words) {
    const Copy copy(model);
    copy.set("problem_type", problem);
    CHECK_THROWS_WITH(copy.read(), Contains(words));
  };
  refused("bert_classification", "regression", "for several labels");
}

TEST_CASE("a name that id2label has twice gets its number") {
  const Copy copy("bert_classification");
  const std::size_t count = copy.read().labels.size();
  nlohmann::json names;
  for (std::size_t i = 0; i < count; ++i) names[std::to_string(i)] = "a";
  copy.set("id2label", names);
  const std::vector<std::string> labels = copy.read().labels;
  CHECK(labels[0] == "a");
  CHECK(labels[1] == "a_1");
}

TEST_CASE("a tagger drops as its family's taggers do") {
  const auto dropout = [](const char* name, const char* field) {
    const Copy copy(name);
    copy.set(field, 0.25);
    const PretrainedModel model = copy.read();
    return tagging_head_dropout(*model.family, model.settings);
  };
  CHECK(dropout("distilbert", "dropout") == 0.25);
  CHECK(dropout("distilbert", "seq_classif_dropout") != 0.25);
  CHECK(dropout("bert", "classifier_dropout") == 0.25);
}

TEST_CASE("a file that Git LFS has not fetched is told as that, whatever it was") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:0123456789012345678901234567890123456789012345678901234567890123\nsize "
      "90868376\n";
  const std::string file = GENERATE("model.safetensors", "vocab.txt", "config.json");
  const Copy copy("bert");
  copy.write(file, pointer);
  CHECK_THROWS_WITH(copy.read(),
                    Contains(file + ": is a Git LFS pointer") && Contains("run `git lfs pull`"));
}

TEST_CASE("a folder of an adapter is told as that") {
  const Copy copy("bert");
  const std::string adapter =
      R"({"peft_type": "LORA", "base_model_name_or_path": "bert-base-uncased"})";
  copy.write("adapter_config.json", adapter);
  CHECK_NOTHROW(copy.read());  // a whole model, whatever lies beside it
  fs::rename(copy / "model.safetensors", copy / "adapter_model.safetensors");
  const std::string words = "holds an adapter of PEFT, \"LORA\", for \"bert-base-uncased\", not";
  CHECK_THROWS_WITH(copy.read(), Contains(words) && Contains("merge_and_unload"));
  fs::remove(copy / "config.json");
  CHECK_THROWS_WITH(copy.read(), Contains(words));
  copy.write("adapter_config.json", "[");
  CHECK_THROWS_WITH(copy.read(), Contains("holds an adapter of PEFT, not a model"));
}
