// What is refused when a training is opened, before anything is written, and how a run is resumed.
#include "runs/train.h"
#include "runs/resume_rules.h"
#include "runs/run_settings.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "catch.h"
#include "config/dump.h"
#include "has.h"
#include "message_of.h"
#include "report/json_lines.h"
#include "runs/model_source.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "runs/trained_model.h"
#include "said.h"
#include "tasks/text_model.h"
#include "tasks/untrained.h"
#include "tensor/products.h"
#include "training/checkpoint.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

std::string refusal(const Settings& settings, ExistingRun existing = ExistingRun::refuse) {
  try {
    train_run(settings, existing);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

nlohmann::json record_of(const fs::path& run) {
  return read_checksummed_json(run / "run.json");
}

std::vector<double> losses(const fs::path& run) {
  std::vector<double> values;
  for (const nlohmann::json& line : read_json_lines(run / "metrics.jsonl")) {
    if (line.contains("loss")) values.push_back(line["loss"]);
  }
  return values;
}

// Another text in the place of the data, or in a new folder.
void prepare_other(const fs::path& folder, const std::string& text, const fs::path& output) {
  std::ofstream(folder / "other.txt") << text;
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  CorpusOptions corpus;
  corpus.inputs = {folder / "other.txt"};
  prepare({.corpus = corpus, .validation_inputs = {folder / "other.txt"}, .output = output},
          *tokenizer);
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "a line of another text " + std::to_string(i) + "\n\n";
  return text;
}

// A run that its file describes, without the flags it was begun with.
struct FiledRun {
  TinyRun tiny{"rope"};
  fs::path file = tiny.folder.path / "tiny.yaml";

  explicit FiledRun(const std::string& more = "") {
    std::ofstream(file) << "runs: " << tiny.settings.runs.string() << "\n" << more;
    train_run(tiny.settings, ExistingRun::refuse);
  }
  Settings resumed(const std::vector<Override>& flags = {}) const {
    return resumed_settings(file, flags);
  }
  std::string refused(const std::vector<Override>& flags) const {
    try {
      resumed(flags);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.what();
    }
    return "";
  }
  // What is said meanwhile.
  std::string remarks(const std::vector<Override>& flags = {}) const {
    const fs::path log = tiny.folder.path / "said.txt";
    {
      const log::FileSink sink(log);
      resumed(flags);
    }
    return read_file(log);
  }
};

}  // namespace

TEST_CASE("a data set that was split otherwise than the configuration wants is refused") {
  TinyRun tiny("rope");
  tiny.settings.data.validation_fraction = 0.1;
  const std::string message = refusal(tiny.settings);
  CHECK_THAT(message, Catch::Contains("data.validation_fraction: 0.1 is wanted"));
  CHECK_THAT(message, Catch::Contains("was prepared with 0.2"));
  CHECK_FALSE(fs::exists(tiny.run()));
  tiny.settings.data.validation_fraction = 0.2;
  CHECK(refusal(tiny.settings).empty());
}

TEST_CASE("a place where nothing can be written is named before the first step") {
  TinyRun tiny("rope");
  tiny.settings.runs = "/proc/runs";  // read-only even for root
  CHECK_THAT(refusal(tiny.settings), Catch::Contains("/proc/runs"));
}

TEST_CASE("a validation split without a row or a target is noticed before the run is made") {
  const std::string task = GENERATE("mlm", "causal_lm");
  const TinyRun tiny("rope", {{"task", task}, {"data.length", "4096"}});
  const std::string message = refusal(tiny.settings);
  CHECK(has(message, "the validation set has"));
  CHECK(has(message, "too few to fill one row of 4096"));
  CHECK(has(message, "--validation-fraction"));
  CHECK_FALSE(fs::exists(tiny.run()));
  if (task == "causal_lm") return;
  // So few are masked that none is in the one row.
  TinyRun sparse("rope", {{"data.masking.probability", "1e-9"}, {"data.validation_tokens", "1"}});
  CHECK(has(refusal(sparse.settings), "has no target to predict"));
  CHECK_FALSE(fs::exists(sparse.run()));
}

TEST_CASE("a run goes on with its data, wherever they are now") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  Settings longer = tiny.settings;
  longer.training.steps.amount = 5;
  fs::rename(tiny.data(), tiny.folder.path / "moved");
  longer.data.directory = tiny.folder.path / "moved";
  CHECK(train_run(longer, ExistingRun::resume).consumed.steps == 5);
}

TEST_CASE("the record of a run says which attention it took") {
  const std::string scheme = GENERATE("rope", "rerope");  // without and with scores in memory
  TinyRun tiny(scheme);
  train_run(tiny.settings, ExistingRun::refuse);
  const nlohmann::json taken = record_of(tiny.run())["attention"];
  const std::string forward = taken["forward"];
  CHECK(forward == (scheme == "rerope" || !has_block_products() ? "scores" : "tiles"));
  CHECK(taken["gradient"] == "exact");
  CHECK(taken["sums"] == "fp32");
  tiny.settings.training.steps.amount += 2;
  train_run(tiny.settings, ExistingRun::resume);
  CHECK(record_of(tiny.run())["attention"] == taken);
  // A run that took other ways before keeps them, and no resumption adds one again.
  nlohmann::json record = record_of(tiny.run());
  record["attention"] = {{"forward", "flash, " + forward}, {"gradient", "fast"}, {"sums", "fp32"}};
  write_checksummed_json(InnerPath::named(tiny.run()) / "run.json", record);
  for (int time = 0; time < 2; ++time) {
    tiny.settings.training.steps.amount += 1;
    train_run(tiny.settings, ExistingRun::resume);
  }
  CHECK(record_of(tiny.run())["attention"] == record["attention"]);
}

TEST_CASE("a copied project trains its own copy of a run") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const fs::path copy = tiny.folder.path / "copy";
  fs::create_directories(copy);
  for (const char* part : {"runs", "data"}) {
    fs::copy(tiny.folder.path / part, copy / part, fs::copy_options::recursive);
  }
  const Settings settings =
      resumed_settings(copy / "runs" / "tiny" / "config.yaml", {{"training.steps", "5"}});
  CHECK(settings.runs == copy / "runs");
  CHECK(settings.data.directory == copy / "data");
  CHECK(train_run(settings, ExistingRun::resume).consumed.steps == 5);
  CHECK(fs::exists(copy / "runs" / "tiny" / "checkpoints" / "step-00000005"));
  CHECK_FALSE(fs::exists(tiny.run() / "checkpoints" / "step-00000005"));
  // From now on that is what it stores.
  CHECK(has(read_file(copy / "runs" / "tiny" / "config.yaml"), (copy / "runs").string()));
  CHECK(read_run_settings(tiny.run()).runs == tiny.settings.runs);
}

TEST_CASE("a run goes on with its own division of a text alone") {
  const TinyRun tiny("rope");
  // Documents of one length: nothing but the shards tells two divisions apart.
  std::ofstream text(tiny.folder.path / "even.txt");
  for (int i = 100; i < 400; ++i) text << "a document of one length, number " << i << "\n";
  text.close();
  CorpusOptions corpus;
  corpus.inputs = {tiny.folder.path / "even.txt"};
  corpus.separator = DocumentSeparator::line;
  const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
  std::map<std::array<std::uint64_t, 2>, std::vector<fs::path>> by_counts;
  std::vector<fs::path> pair;
  for (std::uint64_t seed = 1; pair.empty() && seed < 200; ++seed) {
    const fs::path output = tiny.folder.path / ("seed-" + std::to_string(seed));
    const DatasetDescription made =
        prepare({.corpus = corpus, .seed = seed, .output = output}, *tokenizer);
    std::vector<fs::path>& same =
        by_counts[{made[Split::train].counts.tokens, made[Split::validation].counts.tokens}];
    same.push_back(output);
    if (same.size() == 2) pair = same;
  }
  REQUIRE(pair.size() == 2);
  Settings settings = tiny.settings;
  settings.data.directory = pair[0];
  train_run(settings, ExistingRun::refuse);
  settings.training.steps.amount = 4;
  settings.data.directory = pair[1];
  const std::string message = refusal(settings, ExistingRun::resume);
  CHECK(has(message, "does not hold the data that the run was started with"));
  CHECK(has(message, "training fingerprint"));
  // What an older program wrote tells less, and goes on.
  nlohmann::json record = record_of(tiny.run());
  for (const char* fact : {"training_fingerprint", "validation_fingerprint"}) {
    record["data"].erase(fact);
  }
  write_checksummed_json(tiny.run() / "run.json", record);
  CHECK(refusal(settings, ExistingRun::resume).empty());
}

TEST_CASE("schemes that draw, gate, or keep fixed numbers train and go on as if never stopped") {
  using Options = std::vector<Override>;
  const auto [scheme, options] = GENERATE(table<std::string, Options>({
      {"fox", {}},
      {"stick_breaking", {{"position.remainder", "head_bias"}}},
      {"explicit_positions", {}},
      {"explicit_positions", {{"position.draw", "cape"}, {"position.form", "sinusoidal"}}},
      {"dape", {{"position.kernel", "3"}}},
      {"fope", {}},
      {"path", {{"position.forget_gate", "true"}}},
      // What is read from a layer's input has its width, and not that of the token table.
      {"fox", {{"model.embedding_width", "16"}}},
      {"path", {{"model.embedding_width", "16"}}},
      {"deberta", {{"model.embedding_width", "16"}, {"position.share_projections", "true"}}},
      {"learned", {{"model.embedding_width", "16"}}},
  }));
  CAPTURE(scheme);
  Options all{{"task", "causal_lm"}, {"training.schedule", "constant"}, {"training.warmup", "0"}};
  all.insert(all.end(), options.begin(), options.end());
  const TinyRun whole(scheme, all), parted(scheme, all);
  Settings longer = whole.settings;
  longer.training.steps.amount = 6;
  const auto loss = [](const TrainingSummary& summary) {
    return summary.validations.back().figures.at("loss");
  };
  const double wanted = loss(train_run(longer, ExistingRun::refuse));
  train_run(parted.settings, ExistingRun::refuse);
  Settings rest = parted.settings;
  rest.training.steps.amount = 6;
  const TrainingSummary resumed = train_run(rest, ExistingRun::resume);
  CHECK(resumed.consumed.steps == 6);
  CHECK(loss(resumed) == wanted);
}

TEST_CASE("a run goes on with nothing else than what it was begun with") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const auto checkpoints = list_checkpoints(tiny.run() / "checkpoints");
  Settings longer = tiny.settings;
  longer.training.steps.amount = 5;
  SECTION("other ones by name") {
    longer.data.directory = tiny.folder.path / "other";
    prepare_other(tiny.folder.path, long_text(), longer.data.directory);
    const std::string message = refusal(longer, ExistingRun::resume);
    CHECK(has(message, "data.directory: " + longer.data.directory.string()));
    CHECK(has(message, "does not hold the data that the run was started with: fingerprint \""));
    CHECK(has(message, "name the data that were in " + tiny.data().string()));
  }
  SECTION("other ones in the same place") {
    fs::remove_all(tiny.data());
    prepare_other(tiny.folder.path, long_text(), tiny.data());
    CHECK(has(refusal(longer, ExistingRun::resume),
              "does not hold the data that the run was started with"));
  }
  SECTION("the same text split otherwise") {
    nlohmann::json record = record_of(tiny.run());
    record["data"]["validation_tokens"] = 1;
    write_file_atomically(tiny.run() / "run.json", record.dump());
    CHECK(has(refusal(longer, ExistingRun::resume), "with: validation tokens "));
  }
  SECTION("in another precision") {
    longer.training.precision = Precision::automatic;
    nlohmann::json record = record_of(tiny.run());
    record["precision"] = "fp8";
    write_file_atomically(tiny.run() / "run.json", record.dump());
    CHECK(has(refusal(longer, ExistingRun::resume),
              "training.precision: the run was started in fp8, here it would continue in "));
  }
  CHECK(list_checkpoints(tiny.run() / "checkpoints") == checkpoints);
}

TEST_CASE("a run killed before its record was written resumes, and is overwritten") {
  TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const std::vector<double> whole = losses(tiny.run());
  const std::string config = read_file(tiny.run() / "config.yaml");
  fs::remove_all(tiny.run());
  fs::create_directories(tiny.run());
  write_file_atomically(tiny.run() / "config.yaml", config);
  const bool with_tokenizer = GENERATE(false, true);
  if (with_tokenizer) write_file_atomically(tiny.run() / "tokenizer.json", "{");
  const auto existing = GENERATE(ExistingRun::resume, ExistingRun::overwrite);
  CHECK(refusal(tiny.settings, existing).empty());
  CHECK(losses(tiny.run()) == whole);
  CHECK(record_of(tiny.run())["precision"] == "fp32");
  CHECK_NOTHROW(load_tokenizer(tiny.run()));
}

TEST_CASE("the configuration is there before the record of a run, which completes it") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  CHECK(fs::last_write_time(tiny.run() / "config.yaml") <
        fs::last_write_time(tiny.run() / "run.json"));
}

TEST_CASE("a run that could not be written can be begun again without a flag") {
  const TinyRun tiny("rope");
  const fs::path obstacle = tiny.run() / "run.json.partial";
  fs::create_directories(obstacle / "in the way");
  CHECK(has(refusal(tiny.settings), "run.json"));
  CHECK_FALSE(is_run(tiny.run()));
  CHECK(refusal(tiny.settings).empty());
}

TEST_CASE("a training for which there will never be memory is refused, and leaves no run") {
  TinyRun tiny("rope");
  tiny.settings.training.batch = 1'000'000'000;
  CHECK(has(refusal(tiny.settings), "are free"));
  CHECK_FALSE(is_run(tiny.run()));
}

TEST_CASE("a record that was emptied does not keep a run from going on") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  fs::resize_file(tiny.run() / "run.json", 0);
  CHECK(refusal(tiny.settings, ExistingRun::resume).empty());
  CHECK(record_of(tiny.run())["precision"] == "fp32");
}

TEST_CASE("a continuation takes the stored settings and the flags") {
  const FiledRun filed;
  const Settings settings = filed.resumed({{"training.steps", "7"}});
  CHECK(settings.model.width == 32);  // begun with a flag that nobody gives again
  CHECK(settings.training.steps.amount == 7);
  CHECK(settings.data.directory == filed.tiny.settings.data.directory);
  CHECK(train_run(settings, ExistingRun::resume).consumed.steps == 7);
  CHECK(filed.resumed().training.steps.amount == 7);
  // The flags of the beginning may be repeated.
  CHECK(filed.refused({{"model.width", "32"}, {"position", "rope"}}).empty());

  // What helps a training that diverged may be given, precision included.
  const Settings remedied = filed.resumed({{"training.steps", "8"},
                                           {"training.learning_rate", "1e-5"},
                                           {"training.warmup", "2"},
                                           {"training.clip", "0.5"},
                                           {"training.precision", "bf16"}});
  CHECK(remedied.training.learning_rate == 1e-5);
  CHECK(train_run(remedied, ExistingRun::resume).consumed.steps == 8);

  const std::string refused = filed.refused({{"model.layers", "4"}, {"seed", "9"}});
  CHECK(has(refused, "--model.layers: is 2 in the stored run, got 4"));
  CHECK(has(refused, "--seed: is 1 in the stored run, got 9"));
  // What may change must still go together.
  CHECK(has(filed.refused({{"training.steps", "0"}}), "wanted a period above 0"));
  CHECK(has(filed.refused({{"run", "nowhere"}}), "holds no run that could be resumed"));
  // A run whose folder was renamed is the run of that name.
  fs::rename(filed.tiny.run(), filed.tiny.settings.runs / "renamed");
  CHECK(filed.resumed({{"run", "renamed"}}).run == "renamed");
}

TEST_CASE("a run takes another length before the decay of wsd, and not after it") {
  const TinyRun tiny("rope", {{"training.schedule", "wsd"},
                              {"training.steps", "10"},
                              {"training.decay", "4"},
                              {"training.save_every", "6"},
                              {"training.keep_last", "2"}});
  train_run(tiny.settings, ExistingRun::refuse);
  Settings other = tiny.settings;
  other.training.steps.amount = 12;
  CHECK(has(refusal(other, ExistingRun::resume),
            "the run has reached step 10, where the decay of the stored training (10) has begun; "
            "another length needs a checkpoint before it"));
  CHECK(refusal(tiny.settings, ExistingRun::resume).empty());
  fs::remove_all(tiny.run() / "checkpoints" / "step-00000010");
  other.training.steps.amount = 9;
  CHECK(has(refusal(other, ExistingRun::resume), "the decay of the wanted training (9)"));
  other.training.steps.amount = 12;
  CHECK(train_run(other, ExistingRun::resume).consumed.steps == 12);
}

TEST_CASE("Muon goes on as if never stopped, with all that belongs to a training") {
  const TinyRun tiny("transformer_xl", {{"training.optimizer", "muon"},
                                        {"training.muon.learning_rate", "0.02"},
                                        {"training.muon.scale", "original"},
                                        {"training.schedule", "constant"},
                                        {"training.accumulation", "2"},
                                        {"training.layer_decay", "0.8"},
                                        {"training.ema", "0.9"},
                                        {"training.clip", "0.5"},
                                        {"model.activation", "swiglu"},
                                        {"model.freeze_layers", "1"},
                                        {"training.steps", "6"}});
  train_run(tiny.settings, ExistingRun::refuse);
  Settings stopped = tiny.settings;
  stopped.run = "stopped";
  stopped.training.steps.amount = 3;
  train_run(stopped, ExistingRun::refuse);
  stopped.training.steps.amount = 6;
  train_run(stopped, ExistingRun::resume);
  const fs::path last = fs::path("checkpoints") / "step-00000006";
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}) {
    CHECK(read_file(tiny.run() / last / file) ==
          read_file(stopped.runs / stopped.run / last / file));
  }
  // Only the second layer is trained.
  const Safetensors moments(tiny.run() / last / "optimizer.safetensors");
  std::vector<std::string> of_muon;
  for (const std::string& name : moments.names()) {
    if (name.starts_with("momentum.")) of_muon.push_back(name);
  }
  const std::string layer = "momentum.layers.1.";
  CHECK(of_muon == std::vector<std::string>{layer + "attention.output.weight",
                                            layer + "attention.query_key_value.weight",
                                            layer + "feed_forward.inner.weight",
                                            layer + "feed_forward.outer.weight"});
}

TEST_CASE("a file of another task resumes no run") {
  const FiledRun filed("task: causal_lm\n");
  CHECK(has(message_of([&] { filed.resumed(); }),
            "task is causal_lm here, and mlm in the stored run"));
}

TEST_CASE("src/runs/README.md shows the rules of what may differ when a run is resumed") {
  const std::string page = read_file(fs::path(CONFIGS) / ".." / "src" / "runs" / "README.md");
  CHECK(has(page, resume_rules_table()));
}

TEST_CASE("what the file says otherwise than the stored run is one warning with both values") {
  const FiledRun filed("model: {layers: 4, width: 32, from: /gone}\ntraining: {steps: 9}\n");
  const std::string remarks = filed.remarks();
  CHECK(has(remarks, "tiny.yaml: model.layers is 2 in the stored run and 4 here"));
  CHECK(has(remarks, "model.from is empty in the stored run and /gone here"));
  CHECK(has(remarks,
            "training.steps is 3 in the stored run and 9 here; the stored value holds, "
            "--training.steps changes it"));
  CHECK(!has(remarks, "model.width"));
  CHECK(!has(remarks, "runs is"));
  CHECK(filed.resumed().model.layers == 2);
  CHECK(!has(FiledRun().remarks({{"training.steps", "9"}}), "training.steps"));
}

TEST_CASE("a fine-tuning goes on without the model that it started from") {
  const TinyRun pretrained("rope", {{"model.token_types", "2"}});
  train_run(pretrained.settings, ExistingRun::refuse);
  const TinyGlue tiny("mrpc");
  const fs::path file = tiny.folder.path / "tiny.yaml";
  std::ofstream(file) << "task: glue\nthreads: 1\ntraining: {steps: 2, batch: 4}\nmodel: {from: "
                      << pretrained.run().string() << "}\nruns: " << tiny.settings.runs.string()
                      << "\n";
  const std::vector<Override> flags = {{"data.directory", tiny.data().string()},
                                       {"data.length", "32"}};
  train_run(load_settings(file, flags, model_source_keys), ExistingRun::refuse);
  fs::remove_all(pretrained.run());
  const Settings settings = resumed_settings(file, {{"training.steps", "4"}});
  CHECK(settings.data.length == 32);
  CHECK(train_run(settings, ExistingRun::resume).consumed.steps == 4);
}

TEST_CASE("a classifier that reads longer texts than its start was trained in says so") {
  const TinyRun pretrained("learned", {{"model.token_types", "2"}});  // in rows of 32
  train_run(pretrained.settings, ExistingRun::refuse);
  const TinyGlue tiny("mrpc");
  const fs::path file = tiny.folder.path / "tiny.yaml";
  std::ofstream(file) << "task: glue\nthreads: 1\ntraining: {steps: 2, batch: 4}\nmodel: {from: "
                      << pretrained.run().string() << "}\nruns: " << tiny.settings.runs.string()
                      << "\n";
  const std::string line =
      "texts have up to 64 tokens, but the pretrained model was trained on rows of "
      "32";
  const auto trained_at = [&](const std::string& length) {
    const std::vector<Override> flags = {
        {"data.directory", tiny.data().string()}, {"data.length", length}, {"run", "at-" + length}};
    return said(
        [&] { train_run(load_settings(file, flags, model_source_keys), ExistingRun::refuse); });
  };
  CHECK_FALSE(has(trained_at("32"), "was trained on rows of"));
  CHECK(has(trained_at("64"), line));
  // Its evaluation says it, too, when the start is gone.
  fs::remove_all(pretrained.run());
  const auto evaluated = [&](const std::string& run) {
    return said([&] { warn_of_short_start(open_run_of<Classifier>(tiny.settings.runs / run)); });
  };
  CHECK(has(evaluated("at-64"), line));
  CHECK_FALSE(has(evaluated("at-32"), "was trained on rows of"));
}

TEST_CASE("loader threads do not change what a classifier learns") {
  std::vector<std::vector<double>> all;
  for (const char* threads : {"0", "3"}) {
    const TinyGlue tiny("mrpc", {{"data.loader_threads", threads},
                                 {"data.prefetch", "2"},
                                 {"training.steps", "3e"},
                                 {"training.log_every", "1"}});
    train_run(tiny.settings, ExistingRun::refuse);
    all.push_back(losses(tiny.run()));
  }
  CHECK(all[0].size() == 6);
  CHECK(all[0] == all[1]);
}

TEST_CASE("a learning rate that is far too high ends with the remedies, whatever it comes to") {
  const std::string precision = GENERATE("fp32", "bf16");
  const TinyRun tiny("rope", {{"training.learning_rate", "1e3"},
                              {"training.schedule", "constant"},
                              {"training.steps", "300"},
                              {"training.precision", precision}});
  const std::string message = refusal(tiny.settings);
  CAPTURE(message);
  CHECK_THAT(message, Catch::Contains("diverged") || Catch::Contains("not finite"));
  CHECK_THAT(read_file(tiny.run() / "log.txt"), Catch::Contains(message));
  CHECK_THAT(message, Catch::Contains("lower training.learning_rate"));
}

TEST_CASE("a run that has no checkpoint yet does not begin again from other weights") {
  const TinyRun first("rope");
  train_run(first.settings, ExistingRun::refuse);
  TinyRun second("rope", {{"model.from", first.run().string()}});
  train_run(second.settings, ExistingRun::refuse);
  fs::remove_all(second.run() / "checkpoints");
  CHECK(train_run(second.settings, ExistingRun::resume).consumed.steps == 3);
  fs::remove_all(second.run() / "checkpoints");
  Settings longer = first.settings;
  longer.training.steps.amount = 5;
  train_run(longer, ExistingRun::resume);
  CHECK(has(refusal(second.settings, ExistingRun::resume),
            "holds other weights than when the run was started"));
}

TEST_CASE("a record that names more processes than there can be is refused") {
  const TinyRun run("rope");
  train_run(run.settings, ExistingRun::refuse);
  Settings longer = run.settings;
  longer.training.steps = {5, Period::Unit::steps};
  const nlohmann::json whole = record_of(run.run());
  for (const nlohmann::json& processes :
       {nlohmann::json(25'276'063'744), nlohmann::json("x"), nlohmann::json(0), nlohmann::json(-3),
        nlohmann::json(1.5), nlohmann::json(nullptr),
        nlohmann::json(18'446'744'073'709'551'615U)}) {
    nlohmann::json changed = whole;
    changed["processes"] = processes;
    changed.erase("batch_of");  // an older record, whose number of processes counts
    write_checksummed_json(run.run() / "run.json", changed);
    CAPTURE(processes.dump());
    CHECK(has(refusal(longer, ExistingRun::resume), "run.json: the field processes is "));
  }
  nlohmann::json old = whole;
  old.erase("processes");
  old.erase("batch_of");
  write_checksummed_json(run.run() / "run.json", old);
  CHECK(refusal(longer, ExistingRun::resume).empty());
}
