// What model.from gives to a configuration, and what of it is read for that.
#include "runs/model_source.h"
#include "runs/model_folders.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// A copy of a folder of Hugging Face's whose weights are not numbers, in a file that is whole else.
fs::path with_damaged_weights(const fs::path& model, const TemporaryFolder& folder) {
  const fs::path copy = folder.path / "damaged";
  fs::copy(model, copy);
  std::string file = read_file(copy / "model.safetensors");
  std::uint64_t header = 0;
  std::copy_n(file.data(), sizeof header, reinterpret_cast<char*>(&header));
  std::fill(file.begin() + static_cast<std::ptrdiff_t>(sizeof header + header), file.end(), '\xff');
  fs::remove(copy / "model.safetensors");
  write_file_atomically(copy / "model.safetensors", file);
  return copy;
}

std::string text_of(const std::vector<Override>& keys) {
  std::string text;
  for (const Override& key : keys) text += key.key + " " + key.text + "\n";
  return text;
}

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the keys of a folder of Hugging Face's are known without its weights") {
  const std::string name =
      GENERATE("bert", "roformer_bfloat16_sharded", "roformer_classification", "llama");
  CAPTURE(name);
  const ModelSource source = open_model_source(model_folder(name));
  const std::string keys = text_of(model_source_keys(model_folder(name)));
  CHECK(has(keys, "model.vocabulary " + std::to_string(source.settings.model.vocabulary) + "\n"));
  CHECK(source.settings.model.vocabulary == source.weights.at("embedding.tokens.weight").size(0));
  CHECK(has(keys, std::string("position.scheme ") + (name == "bert" ? "learned" : "rope") + "\n"));
  CHECK(has(keys, "glue.head "));
  if (name == "roformer_bfloat16_sharded") return;
  const TemporaryFolder folder;
  const fs::path damaged = with_damaged_weights(model_folder(name), folder);
  CHECK(text_of(model_source_keys(damaged)) == keys);
  CHECK(has(complaint([&] { open_model_source(damaged); }), "NaN"));
  // A format that cannot be read is found out before a study begins.
  fs::rename(damaged / "model.safetensors", damaged / "pytorch_model.bin");
  CHECK(has(complaint([&] { model_source_keys(damaged); }), "pickle"));
}

TEST_CASE("a vocabulary that was replaced makes another source of a folder of Hugging Face's") {
  const TemporaryFolder folder;
  const fs::path copy = folder.path / "bert";
  fs::copy(model_folder("bert"), copy);
  const std::string before = model_source_fingerprint(copy);
  CHECK(before == model_source_fingerprint(model_folder("bert")));
  write_file_atomically(copy / "README.md", "read by nobody");
  CHECK(model_source_fingerprint(copy) == before);
  fs::remove(copy / "vocab.txt");
  write_file_atomically(copy / "vocab.txt", "[PAD]\n[UNK]\n");
  CHECK(model_source_fingerprint(copy) != before);
}

TEST_CASE("the keys of a run are known from its best checkpoint's settings and list of weights") {
  const TinyRun tiny("rope", {{"position.rope.scaling", "linear"}, {"position.rope.factor", "2"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const ModelSource source = open_model_source(tiny.run());
  const std::string keys = text_of(model_source_keys(tiny.run()));
  const std::int64_t rows = source.weights.at("embedding.tokens.weight").size(0);
  CHECK(source.settings.model.vocabulary == rows);
  CHECK(has(keys, "model.vocabulary " + std::to_string(rows) + "\n"));
  CHECK(has(keys, "position.rope.original_length 32\n"));  // of its own training
  fs::remove(find_checkpoint(tiny.run()) / "model.safetensors");
  CHECK(has(complaint([&] { model_source_keys(tiny.run()); }), "model.safetensors"));
  CHECK(has(complaint([&] { model_source_keys(tiny.data()); }), "neither a run, a checkpoint"));
  CHECK(has(complaint([&] { model_source_keys("/nowhere"); }), "is not there"));
}
