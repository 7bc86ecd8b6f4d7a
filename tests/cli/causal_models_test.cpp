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

}  // namespace

TEST_CASE("an imported causal model generates what transformers decodes greedily") {
  const std::string name = GENERATE("llama", "qwen2", "qwen3", "gpt_neox");
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
  CHECK(has(exported.output, "ForCausalLM"));
  const Outcome again = run({"import", out.string(), "--run", "again", "--runs", runs});
  CHECK(again.code == 0);
  CHECK(has(run({"generate", run_folder, "1 x"}).errors, "is no id from 0 to 47"));
}
