// Causal models of other programs as a user meets them: imported, asked, trained on, exported.
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/model_folders.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::string words_of(const at::Tensor& ids) {
  std::string words;
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    words += (i == 0 ? "" : " ") + std::to_string(ids.const_data_ptr<std::int64_t>()[i]);
  }
  return words;
}

// A copy of a model's folder with a byte-level tokenizer.json whose pieces are single letters, the
// last one the end of a text; `processor` puts tokens around a text.
fs::path with_letters(const std::string& name, const TemporaryFolder& folder,
                      const nlohmann::json& processor) {
  const fs::path copy = folder.path / "letters";
  fs::copy(model_folder(name), copy);
  nlohmann::json vocabulary;
  for (int id = 0; id < 47; ++id) vocabulary[std::string(1, static_cast<char>('A' + id))] = id;
  const nlohmann::json tokenizer = {
      {"added_tokens", {{{"id", 47}, {"content", "<|endoftext|>"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"post_processor", processor},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}};
  write_file_atomically(copy / "tokenizer.json", tokenizer.dump());
  return copy;
}

std::string letters_of(const at::Tensor& ids) {
  std::string letters;
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    letters += static_cast<char>('A' + ids.const_data_ptr<std::int64_t>()[i]);
  }
  return letters;
}

std::vector<std::int64_t> generated_ids(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  for (const char* word : {"--tokens", "16", "--temperature", "0", "--json"}) {
    words.emplace_back(word);
  }
  const Outcome outcome = run(words);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.output)["ids"].get<std::vector<std::int64_t>>();
}

}  // namespace

TEST_CASE("an imported causal model generates what transformers decodes greedily") {
  const std::string name = GENERATE(as<std::string>{}, "llama", "llama_biases", "mistral", "qwen2",
                                    "qwen3", "qwen3_biases", "gpt_neox", "gpt2", "bloom", "mpt");
  CAPTURE(name);
  const TemporaryFolder folder;
  const std::string runs = folder.path.string(), run_folder = (folder.path / name).string();
  const Outcome imported =
      run({"import", model_folder(name).string(), "--run", name, "--runs", runs});
  CAPTURE(imported.errors);
  REQUIRE(imported.code == 0);
  CHECK(has(imported.output, "a causal language model"));
  const Safetensors expected(model_folder(name) / "expected.safetensors");
  const at::Tensor ids = expected.tensor("ids"), greedy = expected.tensor("greedy");
  const std::string prompt = words_of(ids.select(0, 0).narrow(0, 0, 5));
  const Outcome generated = run({"generate", run_folder, prompt, "--tokens",
                                 std::to_string(greedy.numel()), "--temperature", "0", "--json"});
  CAPTURE(generated.errors);
  REQUIRE(generated.code == 0);
  const auto found =
      nlohmann::json::parse(generated.output)["ids"].get<std::vector<std::int64_t>>();
  const std::vector<std::int64_t> wanted(greedy.const_data_ptr<std::int64_t>(),
                                         greedy.const_data_ptr<std::int64_t>() + greedy.numel());
  CHECK(found == wanted);

  const fs::path out = folder.path / "out";
  const Outcome exported = run({"export", run_folder, out.string()});
  CAPTURE(exported.errors);
  CHECK(exported.code == 0);
  CHECK(has(exported.output, name == "gpt2" ? "GPT2LMHeadModel" : "ForCausalLM"));
  const Outcome again = run({"import", out.string(), "--run", "again", "--runs", runs});
  CHECK(again.code == 0);
  CHECK(has(run({"generate", run_folder, "1 x"}).errors, "is no id from 0 to 47"));
}

TEST_CASE("bench decoding continues an imported causal model's prompts as transformers does") {
  const TemporaryFolder folder;
  const std::string runs = folder.path.string(), run_folder = (folder.path / "llama").string();
  REQUIRE(run({"import", model_folder("llama").string(), "--run", "llama", "--runs", runs}).code ==
          0);
  const Safetensors expected(model_folder("llama") / "expected.safetensors");
  const std::string prompt = words_of(expected.tensor("ids").select(0, 0).narrow(0, 0, 5));
  const std::string prompts = (folder.path / "prompts").string();
  const std::string output = (folder.path / "output").string();
  write_file_atomically(prompts, prompt + "\n" + prompt + "\n");
  const std::vector<std::string> command = {"bench", "decoding", run_folder, "--input",
                                            prompts, "--tokens", "16",       "--repeats",
                                            "1",     "--json",   "--output", output};
  const Outcome outcome = run(command);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.code == 0);
  const std::string greedy = words_of(expected.tensor("greedy"));
  CHECK(read_file(output) == greedy + "\n" + greedy + "\n");
  const auto figures = nlohmann::json::parse(outcome.output);
  CHECK(figures["prompts"] == 2);
  CHECK(figures["prompt_tokens"] == 5);
  CHECK(figures["prompt_tokens_per_s"] > 0);
  CHECK(figures["continuation_tokens_per_s"] > 0);
  std::vector<std::string> rounded = command;
  rounded.emplace_back("--int8");
  CHECK(nlohmann::json::parse(run(rounded).output)["precision"] == "int8");
  CHECK(run({"generate", run_folder, prompt, "--tokens", "4", "--int8"}).code == 0);
  write_file_atomically(prompts, prompt + "\n1 2\n");
  CHECK(has(run(command).errors, "is a prompt of 2 tokens, that of line 1 has 5"));
}

TEST_CASE("a prompt begins as the tokenizer of the imported folder says") {
  const std::string name = GENERATE("llama", "qwen2", "gpt_neox");
  CAPTURE(name);
  const Safetensors expected(model_folder(name) / "expected.safetensors");
  const at::Tensor greedy = expected.tensor("greedy");
  const std::vector<std::int64_t> wanted(greedy.const_data_ptr<std::int64_t>(),
                                         greedy.const_data_ptr<std::int64_t>() + greedy.numel());
  const std::string prompt = letters_of(expected.tensor("ids").select(0, 0).narrow(0, 0, 5));
  const nlohmann::json processor = {{"type", "TemplateProcessing"},
                                    {"single",
                                     {{{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
                                      {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}};
  const TemporaryFolder plain, begun;
  const auto import = [&](const fs::path& folder, const fs::path& runs) {
    const Outcome outcome =
        run({"import", folder.string(), "--run", "letters", "--runs", (runs / "runs").string()});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    return (runs / "runs" / "letters").string();
  };
  // Without a template nothing: what transformers decodes from the prompt's ids alone.
  const std::string run_of_plain = import(with_letters(name, plain, nullptr), plain.path);
  CHECK(generated_ids({"generate", run_of_plain, prompt}) == wanted);
  const std::string second =
      "[" + std::to_string(wanted[1]) + ", " + std::to_string(wanted[0]) + "]";
  CHECK(generated_ids({"generate", run_of_plain, prompt, "--decoding.end_tokens", second}).empty());
  CHECK(generated_ids({"generate", run_of_plain, prompt, "--decoding.end_tokens", second,
                       "--ignore-end"}) == wanted);
  const auto after_end =
      generated_ids({"generate", run_of_plain, prompt, "--decoding.prompt_start", "separator"});
  CHECK(after_end != wanted);
  CHECK(has(
      run({"generate", run_of_plain, prompt, "--decoding.prompt_start", "classification"}).errors,
      "has no classification token"));
  // A template's token, unless tokenizer_config.json says no.
  const fs::path folder = with_letters(name, begun, processor);
  CHECK(generated_ids({"generate", import(folder, begun.path), prompt}) == after_end);
  write_file_atomically(folder / "tokenizer_config.json", R"({"add_bos_token": false})");
  fs::remove_all(begun.path / "runs");
  CHECK(generated_ids({"generate", import(folder, begun.path), prompt}) == wanted);
  write_file_atomically(folder / "tokenizer_config.json",
                        R"({"add_bos_token": true, "bos_token": {"content": "<|endoftext|>"}})");
  fs::remove_all(begun.path / "runs");
  CHECK(generated_ids({"generate", import(folder, begun.path), prompt}) == after_end);
}

TEST_CASE("a prompt names special tokens, and a chat template writes a message") {
  const TemporaryFolder folder;
  const fs::path letters = with_letters("llama", folder, nullptr);
  write_file_atomically(
      letters / "tokenizer_config.json",
      nlohmann::json{{"eos_token", "<|endoftext|>"},
                     {"chat_template",
                      "{% for m in messages %}{{ m['role'][0] | upper }}{{ m['content'] }}"
                      "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}A{% endif %}"}}
          .dump());
  const std::string runs = (folder.path / "runs").string();
  const std::string run_folder = runs + "/letters";
  REQUIRE(run({"import", letters.string(), "--run", "letters", "--runs", runs}).code == 0);
  const auto generated = [](const std::vector<std::string>& command) {
    return generated_ids(command);
  };
  // The ids of a text with the token's name are those of the token.
  const std::string checkpoint = run_folder + "/checkpoints/step-00000000";
  const auto encoded = [&](std::vector<std::string> flags, const std::string& text) {
    std::vector<std::string> words = {"tokenizer", "encode", checkpoint};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words, text).output;
  };
  CHECK(encoded({"--special"}, "AB<|endoftext|>C\n") == "0 1 47 2\n");
  CHECK(!has(encoded({}, "AB<|endoftext|>C\n"), "47"));
  const auto answer = generated({"generate", run_folder, "HI", "--chat"});
  CHECK(answer == generated({"generate", run_folder, "UHI<|endoftext|>A"}));
  CHECK(answer != generated({"generate", run_folder, "UHI<|endoftext|>A", "--literal"}));
  CHECK(generated({"generate", run_folder, "HI", "--chat", "--system", "BE"}) ==
        generated({"generate", run_folder, "SBE<|endoftext|>UHI<|endoftext|>A"}));
  // Only the answer is printed.
  const Outcome text = run({"generate", run_folder, "HI", "--chat", "--tokens", "4", "--json"});
  CHECK(nlohmann::json::parse(text.output)["prompt"] == "HI");
  CHECK(nlohmann::json::parse(text.output)["text"].get<std::string>().size() <= 4);
  CHECK(run({"generate", run_folder, "HI", "--chat", "--literal"}).code == 2);
  CHECK(run({"generate", run_folder, "HI", "--system", "BE"}).code == 2);
  // It goes with the run into an export, and back.
  const fs::path out = folder.path / "out";
  REQUIRE(run({"export", run_folder, out.string()}).code == 0);
  REQUIRE(run({"import", out.string(), "--run", "again", "--runs", runs}).code == 0);
  CHECK(generated({"generate", runs + "/again", "HI", "--chat"}) == answer);
  // A run without one says so.
  fs::remove(letters / "tokenizer_config.json");
  REQUIRE(run({"import", letters.string(), "--run", "plain", "--runs", runs}).code == 0);
  const Outcome refused = run({"generate", runs + "/plain", "HI", "--chat"});
  CHECK(refused.code == 2);
  CHECK(has(refused.errors, "has no chat template"));
}
