// What a checkpoint's configuration claims is held against its weights before anything is made of
// it, in every way that opens one; and weights that are no numbers go nowhere.
#include "runs/stored_weights.h"

#include <ATen/ATen.h>

#include <fstream>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "runs/export_run.h"
#include "runs/run_settings.h"
#include "runs/model_source.h"
#include "runs/new_run.h"
#include "runs/tiny_run.h"
#include "runs/trained_model.h"
#include "tasks/language/language_model.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

// The most memory that this process has held at once, in bytes.
std::uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

// The run says that its model is wide: its weights alone would take 5 GB.
void claim_width(const fs::path& run) {
  std::vector<fs::path> folders = list_checkpoints(run / "checkpoints");
  folders.push_back(run);
  for (const fs::path& folder : folders) {
    std::string text = read_file(folder / "config.yaml");
    text.erase(0, text.find('\n') + 1);  // its seal
    replace_all(text, "  layers: 2\n", "  layers: 8\n");
    replace_all(text, "  width: 32\n", "  width: 4096\n");
    replace_all(text, "  feed_forward: 64\n", "  feed_forward: 16384\n");
    std::ofstream(folder / "config.yaml") << text;
    fs::remove(folder / "manifest.json");
  }
}

// Writes the weights of all checkpoints again, changed.
void change_weights(const fs::path& run, const std::function<void(at::Tensor&)>& change) {
  for (const fs::path& folder : list_checkpoints(run / "checkpoints")) {
    std::vector<NamedTensor> tensors;
    {
      const Safetensors file(folder / "model.safetensors");
      for (const std::string& name : file.names()) {
        tensors.push_back({.name = name, .value = file.tensor(name).clone()});
      }
    }
    change(tensors.front().value);
    write_safetensors(folder / "model.safetensors", tensors);
    fs::remove(folder / "manifest.json");
  }
}

}  // namespace

TEST_CASE(
    "a configuration that claims a larger model than the weights is refused before any memory") {
  const TinyRun tiny("rope", {{"training.save_every", "1"}, {"training.keep_last", "3"}});
  train_run(tiny.settings, ExistingRun::refuse);
  CHECK_NOTHROW(open_model_source(tiny.run()));
  claim_width(tiny.run());
  const fs::path out = tiny.folder.path / "out";
  const std::uint64_t before = peak_memory();
  const auto refused = [&](const std::function<void()>& call) {
    CHECK(has(refusal_of(call),
              "\"embedding.tokens.weight\" has the shape [260, 32], this model's "
              "has [260, 4096]"));
  };
  refused([&] { open_run_of<LanguageModel>(tiny.run()); });
  refused([&] { open_run_of<LanguageModel>(tiny.run(), {.checkpoint = "2"}); });
  refused([&] { export_run(tiny.run(), "last", out); });
  refused([&] { average_run({.run = tiny.run(), .count = 2, .output = out}); });
  refused([&] { model_source_keys(tiny.run()); });
  refused([&] { open_model_source(tiny.run()); });
  refused([&] {
    const Settings stored = read_run_settings(tiny.run());
    Settings longer = stored;
    longer.training.steps = parse_period("4");
    longer.runs = tiny.settings.runs;
    train_run(longer, ExistingRun::resume);
  });
  CHECK(!fs::exists(out));
  CHECK(peak_memory() - before < 200'000'000);
}

TEST_CASE("weights must be all of the model's, and no others") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const fs::path checkpoint = find_checkpoint(tiny.run());
  const Safetensors file(checkpoint / "model.safetensors");
  const TranslationVocabularies bytes = stored_vocabularies(tiny.settings, checkpoint);
  CHECK_NOTHROW(require_parameters(tiny.settings, bytes, file));
  Settings other = tiny.settings;
  other.model.layers = 3;
  CHECK(has(refusal_of([&] { require_parameters(other, bytes, file); }),
            "has no tensor \"layers.2.attention.query_key_value.weight\""));
  other.model.layers = 1;
  CHECK(has(refusal_of([&] { require_parameters(other, bytes, file); }),
            "holds \"layers.1.attention.norm.bias\", which this model does not have"));
  // The numbers that a model is made of by then are real again.
  const LanguageModel model(tiny.settings, bytes.source, {});
  CHECK(at::isfinite(model.parameters().all()[0].value).all().item<bool>());
}

TEST_CASE("weights that are not finite are neither opened nor exported nor averaged") {
  const TinyRun tiny("rope", {{"training.save_every", "1"}, {"training.keep_last", "3"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const double number =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  change_weights(tiny.run(), [&](at::Tensor& value) { value.view(-1)[3] = number; });
  const fs::path out = tiny.folder.path / "out";
  const auto refused = [&](const std::function<void()>& call) {
    CHECK(has(refusal_of(call), "holds numbers that are not finite"));
  };
  refused([&] { open_run_of<LanguageModel>(tiny.run()); });
  refused([&] { export_run(tiny.run(), "last", out); });
  refused([&] { average_run({.run = tiny.run(), .count = 2, .output = out}); });
  CHECK(!fs::exists(out));
}
