// The tokenizers of causal models' folders: tokenizer.json, ends of texts, chat templates.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "interop/causal_copy.h"
#include "interop/causal_tokenizer.h"
#include "interop/export.h"
#include "interop/fixtures.h"
#include "temporary_folder.h"
#include "text/tokenizer.h"

using namespace roformer;
namespace fs = std::filesystem;
using Catch::Contains;

TEST_CASE("a causal folder's byte-level tokenizer.json is taken, and written again as it is") {
  const CausalCopy copy("llama");
  const nlohmann::json tokenizer = {
      {"added_tokens", {{{"id", 5}, {"content", "<|endoftext|>"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"\u0120", 3}, {"\u0120a", 4}}},
        {"merges", {"a b", "\u0120 a"}}}}};
  const std::string text = tokenizer.dump();
  std::ofstream(copy.folder.path / "tokenizer.json") << text;
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->kind() == TokenizerKind::byte_level);
  CHECK(read.tokenizer->encode("ab a") == std::vector<TokenId>{2, 4});
  CHECK(read.tokenizer->special().separator == 5);
  const TemporaryFolder folder;
  const fs::path out = folder.path / "out";
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer}, out);
  CHECK(read_file(out / "tokenizer.json") == text);
  CHECK(read.settings.decoding.prompt_start == PromptStart::nothing);
  // More pieces than rows belong to another model.
  nlohmann::json large = tokenizer;
  for (int id = 5; id < 60; ++id) large["model"]["vocab"]["\u0120" + std::to_string(id)] = id;
  large["added_tokens"] = nlohmann::json::array();
  std::ofstream(copy.folder.path / "tokenizer.json") << large.dump();
  CHECK_THROWS_WITH(copy.read(), Contains("the weights have rows for 48"));
}

TEST_CASE("a causal folder's WordPiece tokenizer.json is taken") {
  const CausalCopy copy("llama");
  fs::copy(model_folder("bert_encoder") / "tokenizer.json", copy.folder.path / "tokenizer.json");
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->kind() == TokenizerKind::wordpiece);
  CHECK(read.tokenizer->vocabulary_size() == 40);
}

TEST_CASE("the ids that end a text are those of the folder, and are written") {
  const CausalCopy copy("llama");
  const auto config = [&](const nlohmann::json& ends) {
    nlohmann::json document = nlohmann::json::parse(read_file(copy.folder.path / "config.json"));
    document["eos_token_id"] = ends;
    write_file_atomically(copy.folder.path / "config.json", document.dump());
    return copy.read().settings.decoding.end_tokens;
  };
  using Ids = std::vector<std::int64_t>;
  CHECK(config(nullptr).empty());
  CHECK(config(7) == Ids{7});
  // What `generate` of transformers reads first.
  std::ofstream(copy.folder.path / "generation_config.json") << R"({"eos_token_id": [5, 9]})";
  PretrainedModel read = copy.read();
  CHECK(read.settings.decoding.end_tokens == Ids{5, 9});
  const TemporaryFolder folder;
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
      folder.path / "out");
  CHECK(nlohmann::json::parse(read_file(folder.path / "out" / "config.json"))["eos_token_id"] ==
        nlohmann::json({5, 9}));
  CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.end_tokens == Ids{5, 9});
  std::ofstream(copy.folder.path / "generation_config.json") << R"({"eos_token_id": "</s>"})";
  CHECK_THROWS_WITH(copy.read(), Contains("wanted an id or a list of ids"));
}

TEST_CASE("a tokenizer.model that is none of SentencePiece's leaves the word to tokenizer.json") {
  const CausalCopy copy("llama");
  std::ofstream(copy.folder.path / "tokenizer.model") << "IQ== 0\nIg== 1\n";
  CHECK_THROWS_WITH(copy.read(), Contains("tiktoken's ranks, but its name does not tell"));
  std::ofstream(copy.folder.path / "tokenizer.model.pattern") << "cl100k_base\n";
  CHECK(copy.read().tokenizer->encode("!\"!") == std::vector<TokenId>{0, 1, 0});
  nlohmann::json tokenizer = {
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", {{"A", 0}, {"B", 1}}}, {"merges", nlohmann::json::array()}}}};
  std::ofstream(copy.folder.path / "tokenizer.json") << tokenizer.dump();
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->kind() == TokenizerKind::byte_level);
  CHECK_THAT(read.notes.front(), Contains("tokenizer.model is no SentencePiece model"));
  // SentencePiece's own goes before, as ever.
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model",
           fs::copy_options::overwrite_existing);
  CHECK(copy.read().tokenizer->kind() == TokenizerKind::sentencepiece);
}

TEST_CASE("a causal folder's chat template is read and written") {
  const CausalCopy copy("llama");
  const auto config = [&](const nlohmann::json& value) {
    std::ofstream(copy.folder.path / "tokenizer_config.json") << value.dump();
  };
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
  CHECK(copy.read().tokenizer->chat().source.empty());
  config({{"chat_template", "{{ bos_token }}{{ messages[0].content }}"},
          {"bos_token", "<s>"},
          {"eos_token", {{"content", "</s>"}}}});
  const PretrainedModel read = copy.read();
  CHECK(read.tokenizer->chat() == ChatFormat{.source = "{{ bos_token }}{{ messages[0].content }}",
                                             .begin = "<s>",
                                             .end = "</s>"});
  const auto complains = [](const PretrainedModel& model) {
    return std::ranges::any_of(model.notes, [](const std::string& note) {
      return note.find("cannot compute its chat template") != std::string::npos;
    });
  };
  CHECK(!complains(read));
  const TemporaryFolder folder;
  write_hugging_face_folder(
      {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
      folder.path / "out");
  CHECK(read_hugging_face_folder(folder.path / "out").tokenizer->chat() == read.tokenizer->chat());
  CHECK(read_file(folder.path / "out" / "chat_template.jinja") == read.tokenizer->chat().source);
  // One of several, and the file before the field.
  config({{"chat_template",
           {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", "y"}}}}});
  CHECK(copy.read().tokenizer->chat().source == "y");
  std::ofstream(copy.folder.path / "chat_template.jinja") << "{% macro m() %}{% endmacro %}";
  CHECK(copy.read().tokenizer->chat().source == "{% macro m() %}{% endmacro %}");
  CHECK(complains(copy.read()));
  // It is parsed, not rendered: what it would say of a conversation is told where one is written.
  std::ofstream(copy.folder.path / "chat_template.jinja") << "{{ raise_exception('no') }}";
  CHECK(!complains(copy.read()));
  fs::remove(copy.folder.path / "chat_template.jinja");
  config({{"chat_template", std::string((1 << 20) + 1, 'a')}});
  CHECK_THROWS_WITH(copy.read(), Contains("a chat_template that is larger than 1 MiB"));
}

TEST_CASE("a causal folder's chat template is no link to a file outside the folder") {
  const CausalCopy copy("llama");
  fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path / "secret") << "a secret of the user";
  const fs::path file = copy.folder.path / "chat_template.jinja";
  fs::create_symlink(elsewhere.path / "secret", file);
  CHECK_THROWS_WITH(copy.read(), Contains("is a link to") && Contains("outside the folder"));
  fs::remove(file);
  std::ofstream(copy.folder.path / "other.jinja") << "of the folder";
  fs::create_symlink("other.jinja", file);
  CHECK(copy.read().tokenizer->chat().source == "of the folder");
}

TEST_CASE("what a causal folder's tokenizer puts before a text is read, and written") {
  const CausalCopy copy("llama");
  const auto says = [&](const nlohmann::json& config) {
    std::ofstream(copy.folder.path / "tokenizer_config.json") << config.dump();
    return copy.read().settings.decoding.prompt_start;
  };
  SECTION("SentencePiece's <s>, unless the folder says no") {
    fs::copy(model_folder("marian") / "source.spm", copy.folder.path / "tokenizer.model");
    CHECK(copy.read().tokenizer->kind() == TokenizerKind::sentencepiece);
    CHECK(copy.read().settings.decoding.prompt_start == PromptStart::classification);
    CHECK(says({{"add_bos_token", true}}) == PromptStart::classification);
    CHECK(says({{"add_bos_token", false}}) == PromptStart::nothing);
    CHECK_THROWS_WITH(says(3), Contains("is not a JSON object"));
    // As it is exported.
    fs::remove(copy.folder.path / "tokenizer_config.json");
    PretrainedModel read = copy.read();
    for (const PromptStart start :
         {PromptStart::separator, PromptStart::classification, PromptStart::nothing}) {
      const TokenId first = prompt_token(*read.tokenizer, start);
      if (start != PromptStart::nothing && first < 0) continue;
      CAPTURE(first);
      read.settings.decoding.prompt_start = start;
      const TemporaryFolder folder;
      const ExportSummary summary = write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "out");
      CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.prompt_start == start);
      // transformers' tokenizer puts the token there, too.
      CHECK(summary.architecture == "LlamaForCausalLM");
      const auto written = nlohmann::json::parse(read_file(folder.path / "out" / "tokenizer.json"));
      CHECK((written.dump().find("TemplateProcessing") != std::string::npos) == (first >= 0));
    }
  }
  SECTION("a byte-level tokenizer's template, or the token that the folder names") {
    const auto special = [](int id, const char* content) {
      return nlohmann::json{{"id", id}, {"content", content}, {"special", true}};
    };
    nlohmann::json tokenizer = {
        {"added_tokens", {special(2, "<begin>"), special(3, "<|endoftext|>")}},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", "<begin>"}, {"type_id", 0}}}},
            {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}}},
        {"model",
         {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", nlohmann::json::array()}}}};
    const auto write = [&] { std::ofstream(copy.folder.path / "tokenizer.json") << tokenizer; };
    write();
    CHECK(copy.read().settings.decoding.prompt_start == PromptStart::classification);
    const std::string end = "<|endoftext|>";
    CHECK(says({{"add_bos_token", true}, {"bos_token", end}}) == PromptStart::separator);
    // The token between documents would end a text.
    CHECK(says({{"add_bos_token", true}, {"bos_token", {{"content", "a"}}}}) ==
          PromptStart::nothing);
    CHECK_THAT(copy.read().notes.front(), Contains("\"a\"; here a prompt begins with nothing"));
    CHECK(says({{"add_bos_token", true}, {"bos_token", nullptr}}) == PromptStart::nothing);
    tokenizer.erase("post_processor");
    write();
    CHECK(says(nlohmann::json::object()) == PromptStart::nothing);
    // As it is exported.
    PretrainedModel read = copy.read();
    for (const PromptStart start : {PromptStart::separator, PromptStart::nothing}) {
      read.settings.decoding.prompt_start = start;
      const TemporaryFolder folder;
      write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "out");
      CHECK(read_hugging_face_folder(folder.path / "out").settings.decoding.prompt_start == start);
      const auto config =
          nlohmann::json::parse(read_file(folder.path / "out" / "tokenizer_config.json"));
      CHECK(config["eos_token"] == end);
      read.settings.decoding.end_tokens = {1};
      write_hugging_face_folder(
          {.settings = read.settings, .tensors = read.tensors, .tokenizer = *read.tokenizer},
          folder.path / "other");
      read.settings.decoding.end_tokens.clear();
      CHECK(nlohmann::json::parse(
                read_file(folder.path / "other" / "tokenizer_config.json"))["eos_token"] == "b");
      CHECK(config.contains("bos_token") == (start == PromptStart::separator));
    }
  }
}
