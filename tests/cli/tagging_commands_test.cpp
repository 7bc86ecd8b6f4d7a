// A tagger as a user meets it: train, resume, evaluate, predict, export, import, start from it.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "config/load.h"
#include "has.h"
#include "report/json_lines.h"
#include "runs/model_folders.h"
#include "runs/train.h"
#include "said.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// "press ctrl + f ." with keys, "choose file - open ." with menu items.
struct TinyTags {
  TemporaryFolder folder;
  std::string conll;  // of all sentences
  std::int64_t sentences = 0;

  TinyTags() {
    std::ofstream(folder.path / "vocab.txt")
        << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\npress\nchoose\nthen\nthe\nctrl\nalt\nfile\nedit\n"
           "open\nclose\nundo\n+\n-\n.\nf\ng\nh\n##s\n";
    for (const char* modifier : {"Ctrl", "Alt"}) {
      for (const char* key : {"F", "G", "H"}) {
        for (const char* menu : {"File", "Edit"}) {
          for (const char* item : {"Open", "Close", "Undo"}) {
            conll += fmt::format(
                "Press O\n{} B-KEY\n+ I-KEY\n{} I-KEY\nthen O\n{} B-MENU\n- O\n{} B-MENU\n. O\n\n",
                modifier, key, menu, item);
            ++sentences;
          }
        }
      }
    }
    write("train.conll", conll);
    write("dev.conll", conll.substr(0, conll.find("\n\n", conll.size() / 3) + 2));
    write("tags.yaml", fmt::format(R"(task: tagging
threads: 1
runs: {}
data: {{train: train.conll, validation: dev.conll, length: 16}}
tokenizer: {{file: vocab.txt}}
model: {{layers: 2, width: 32, heads: 2, feed_forward: 64, token_types: 2, initialization: 0.1}}
training: {{steps: 20e, batch: 8, learning_rate: 3e-3, validate_every: 10e, save_every: 10e,
  log_every: 1, precision: fp32, schedule: constant, warmup: 0}}
)",
                                   runs().string()));
  }
  fs::path runs() const { return folder.path / "runs"; }
  std::string run_folder(const std::string& name) const { return (runs() / name).string(); }
  std::string file(const std::string& name) const { return (folder.path / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path / name, std::ios::binary) << text;
  }
  struct Training : Outcome {
    std::string log;  // with what is said before the run's folder exists
  };
  Training train(const std::string& name, const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> words = {"train", file("tags.yaml"), "--run", name};
    words.insert(words.end(), flags.begin(), flags.end());
    Training training;
    training.log = said([&] { static_cast<Outcome&>(training) = run(words); });
    return training;
  }
};

// Losses, norms and figures of all lines, without times.
std::vector<nlohmann::json> lines_without_times(const fs::path& run) {
  std::vector<nlohmann::json> lines = read_json_lines(run / "metrics.jsonl");
  for (nlohmann::json& line : lines) {
    for (const char* time :
         {"minutes", "tokens_per_s", "step_ms", "loader_wait_ms", "loader_share"}) {
      line.erase(time);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("a tagger trains, resumes exactly, is evaluated and tags new sentences") {
  const TinyTags tiny;
  const auto trained = tiny.train("whole");
  CAPTURE(trained.errors);
  REQUIRE(trained.code == 0);
  CHECK(has(trained.log, "36 sentences with 324 words of 4 tags (bio): O, B-KEY, B-MENU, I-KEY"));
  CHECK(has(trained.log, "exports as RoFormerForTokenClassification"));
  CHECK(has(read_file(tiny.runs() / "whole/config.yaml"), "B-MENU"));

  const std::string folder = tiny.run_folder("whole");
  const auto found = nlohmann::json::parse(run({"evaluate", folder, "--json"}).output);
  CHECK(found["figures"]["entity_f1"] == 1.0);
  CHECK(found["figures"]["accuracy"] == 1.0);
  CHECK(found["types"]["MENU"]["support"] == found["types"]["KEY"]["support"].get<int>() * 2);
  CHECK(found["averages"]["micro avg"]["f1"] == 1.0);

  SECTION("it goes on as if it had not stopped, with the tags that it began with") {
    REQUIRE(tiny.train("two", {"--training.steps", "10e"}).code == 0);
    std::filesystem::remove(tiny.folder.path / "vocab.txt");
    REQUIRE(tiny.train("two", {"--training.steps", "20e", "--resume"}).code == 0);
    CHECK(lines_without_times(tiny.runs() / "two") == lines_without_times(tiny.runs() / "whole"));
    tiny.write("train.conll", tiny.conll + "new B-NEW\n");
    const Outcome other = tiny.train("two", {"--training.steps", "30e", "--resume"});
    CHECK(other.code == 2);
  }
  SECTION("mistakes are shown, and two runs compared by their sentences") {
    tiny.write("wrong.conll", "Press O\nCtrl B-MENU\n. O\n\nAlt B-KEY\n+ I-KEY\nG X-KEY\n");
    const Outcome wrong =
        run({"evaluate", folder, "--data", tiny.file("wrong.conll"), "--errors", "3"});
    CHECK(has(wrong.errors, "X-KEY"));  // no tag of BIO
    tiny.write("wrong.conll", "Press O\nCtrl B-MENU\n. O\n\nAlt B-KEY\n+ I-KEY\nG I-NEW\n");
    Outcome shown;
    const std::string warned = said([&] {
      shown = run({"evaluate", folder, "--data", tiny.file("wrong.conll"), "--errors", "3"});
    });
    CHECK(has(warned, "1 word with tags that are no classes of the model count as wrong: I-NEW"));
    REQUIRE(shown.code == 0);
    CHECK(has(shown.output, "[Ctrl is B-MENU, not B-KEY]"));
    CHECK(has(shown.output, "micro avg"));
    const auto same = nlohmann::json::parse(
        run({"evaluate", folder, "--against", folder, "--data", tiny.file("wrong.conll"), "--json"})
            .output);
    CHECK(same["against"]["neither_right"] == 2);
    CHECK(same["against"]["p_value"] == 1.0);
    CHECK(same["figures"]["accuracy"].get<double>() == Approx(4.0 / 6));
  }
  SECTION("CoNLL columns, JSON lines and plain sentences come back with tags") {
    const std::string text = "-DOCSTART-\tx\n\nPress\tVB\nCtrl\tNN\n\nFile\tNN\n";
    const Outcome conll = run({"predict", folder}, text);
    REQUIRE(conll.code == 0);
    const auto lines = lines_of(conll.output);
    REQUIRE(lines.size() == 6);
    CHECK(lines[0] == "-DOCSTART-\tx");
    CHECK(lines[1].empty());
    CHECK(lines[2].starts_with("Press\tVB\tO\t0."));
    CHECK(lines[3].starts_with("Ctrl\tNN\tB-KEY\t0."));
    CHECK(lines[4].empty());
    CHECK(lines[5].starts_with("File\tNN\tB-MENU\t"));

    const std::string plain = "Press Ctrl + F .\n\nFile\n";
    const auto words = lines_of(run({"predict", folder}, plain).output);
    REQUIRE(words.size() == 9);
    CHECK(words[2].starts_with("+\tI-KEY\t0."));
    CHECK(words[5].empty());
    const auto json = lines_of(run({"predict", folder, "--json"}, plain).output);
    REQUIRE(json.size() == 3);
    CHECK(json[1].empty());
    CHECK(nlohmann::json::parse(json[0])["predicted"] ==
          nlohmann::json({"O", "B-KEY", "I-KEY", "I-KEY", "O"}));

    const auto object = nlohmann::json::parse(
        run({"predict", folder}, "{\"id\": 3, \"tokens\": [\"Alt\"]}\n").output);
    CHECK(object["id"] == 3);
    CHECK(object["predicted"] == nlohmann::json::array({"B-KEY"}));
    CHECK(object["probabilities"][0].get<double>() > 0.5);
    CHECK(
        run({"predict", folder, "--format", "conll"}, "Ctrl\nAlt\n").output.starts_with("Ctrl B-"));
  }
  SECTION("a sentence longer than data.length has all its tags") {
    std::string text;
    for (int i = 0; i < 9; ++i) text += "Press Ctrl + F then File - Open . ";
    const auto words = lines_of(run({"predict", folder}, text + "\n").output);
    REQUIRE(words.size() == 82);
    for (std::size_t i = 1; i < 81; i += 9) CHECK(has(words[i], "\tB-KEY\t"));
  }
  SECTION("exported and imported it is the same tagger, and trains further") {
    const std::string exported = tiny.file("exported");
    const Outcome outcome = run({"export", folder, exported});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    const auto config = nlohmann::json::parse(read_file(fs::path(exported) / "config.json"));
    CHECK(config["architectures"][0] == "RoFormerForTokenClassification");
    CHECK(config["id2label"]["2"] == "B-MENU");
    CHECK(!config.contains("problem_type"));
    REQUIRE(run({"import", exported, "--run", "back", "--runs", tiny.runs().string()}).code == 0);
    const std::string text = "Press Ctrl + F .\n";
    CHECK(run({"predict", tiny.run_folder("back")}, text).output ==
          run({"predict", folder}, text).output);
    for (const std::string& from : {folder, exported}) {
      const std::string name = from == folder ? "of-run" : "of-folder";
      const Outcome further = tiny.train(name, {"--model.from", from, "--training.steps", "1"});
      CAPTURE(further.errors);
      REQUIRE(further.code == 0);
      CHECK(has(read_file(tiny.runs() / name / "log.txt"), "; new: none;"));
    }
    tiny.write("train.conll", tiny.conll + "x B-NEW\n");
    REQUIRE(tiny.train("other", {"--model.from", folder, "--training.steps", "1"}).code == 0);
    CHECK(
        has(read_file(tiny.runs() / "other/log.txt"), "new: classifier.weight, classifier.bias;"));
  }
}

TEST_CASE("a tagger of another scheme, data and source") {
  const TinyTags tiny;
  SECTION("a lone training file is divided by a hash of the sentences") {
    tiny.write("train.conll", tiny.conll + tiny.conll);
    const Outcome outcome = tiny.train(
        "alone",
        {"--data.validation", "", "--data.validation_fraction", "0.3", "--training.steps", "1"});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    const auto data = nlohmann::json::parse(read_file(tiny.runs() / "alone/run.json"))["data"];
    const auto training = data["training_examples"].get<std::int64_t>();
    const auto validation = data["validation_examples"].get<std::int64_t>();
    CHECK(training + validation == 2 * tiny.sentences);
    CHECK(validation % 2 == 0);  // equal sentences are in one part
    CHECK(validation > 0.1 * 2 * static_cast<double>(tiny.sentences));
    CHECK(data["classes"] == nlohmann::json({"O", "B-KEY", "B-MENU", "I-KEY"}));
    const auto found =
        nlohmann::json::parse(run({"evaluate", tiny.run_folder("alone"), "--json"}).output);
    CHECK(found["sentences"] == validation);
  }
  SECTION("a model whose tags have no beginnings is measured by those of the data") {
    tiny.write("inside.conll", "Press O\nCtrl I-KEY\nS I-KEY\n\nFile I-MENU\n");
    const auto outcome =
        tiny.train("inside", {"--data.train", tiny.file("inside.conll"), "--data.validation",
                              tiny.file("inside.conll"), "--tagging.classes", "[O, I-KEY, I-MENU]",
                              "--training.steps", "60"});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    const auto found =
        nlohmann::json::parse(run({"evaluate", tiny.run_folder("inside"), "--json"}).output);
    CHECK(found["figures"]["accuracy"] == 1);
    CHECK(found["figures"]["entity_f1"] == 1);
  }
  SECTION("plain tags as numbers, whose F1 is the accuracy") {
    tiny.write("plain.jsonl", R"({"tokens": ["Press", "Ctrl"], "tags": [1, 0]})"
                              "\n"
                              R"({"tokens": ["File"], "tags": [0]})"
                              "\n");
    const auto outcome =
        tiny.train("plain", {"--data.train", tiny.file("plain.jsonl"), "--data.validation",
                             tiny.file("plain.jsonl"), "--tagging.classes", "[NOUN, VERB]",
                             "--training.steps", "2"});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.code == 0);
    CHECK(has(outcome.log, "2 tags (plain): NOUN, VERB"));
    const auto found =
        nlohmann::json::parse(run({"evaluate", tiny.run_folder("plain"), "--json"}).output);
    CHECK(found["figures"]["entity_f1"] == found["figures"]["accuracy"]);
  }
  SECTION("broken sequences are told, IOB1 is changed") {
    tiny.write("broken.conll", tiny.conll + "the O\nFile I-MENU\n");
    const auto broken =
        tiny.train("broken", {"--data.train", tiny.file("broken.conll"), "--training.steps", "1"});
    CHECK(broken.code == 0);
    CHECK(has(broken.log, "1 of 37 sentences have tags that break bio, the first at line 361"));
    tiny.write("iob1.conll", "File I-MENU\nOpen B-MENU\n\nPress O\nCtrl I-KEY\n");
    const auto changed =
        tiny.train("iob1", {"--data.train", tiny.file("iob1.conll"), "--data.validation",
                            tiny.file("iob1.conll"), "--training.steps", "1"});
    CHECK(changed.code == 0);
    CHECK(has(changed.log, "2 of 3 entities begin with I-, as in IOB1"));
  }
  SECTION("what cannot be trained on is refused in a line") {
    const auto complaint = [&](const std::vector<std::string>& flags) {
      return tiny.train("refused", flags).errors;
    };
    CHECK(has(complaint({"--tagging.classes", "[O, B-KEY]"}),
              "train.conll has tags that are none of them: B-MENU, I-KEY"));
    tiny.write("one.conll", "a O\nb O\n");
    CHECK(has(complaint({"--data.train", tiny.file("one.conll")}), "has one tag, O"));
    CHECK(has(complaint({"--data.train", tiny.file("gone.conll")}), "gone.conll"));
    CHECK(!fs::exists(tiny.runs() / "refused"));
  }
  SECTION("another program's folder of a tagger is imported with its tags") {
    const std::string name = GENERATE("bert_tagging", "roformer_tagging", "modernbert_tagging");
    CAPTURE(name);
    const Outcome imported =
        run({"import", model_folder(name).string(), "--run", name, "--runs", tiny.runs().string()});
    CAPTURE(imported.errors);
    REQUIRE(imported.code == 0);
    CHECK(has(imported.output + imported.errors, "a head for 5 tags"));
    const auto line = nlohmann::json::parse(
        run({"predict", tiny.run_folder(name), "--json"}, "click the red button\n").output);
    CHECK(line["predicted"].size() == 4);
    const std::string again = tiny.file("again");
    REQUIRE(run({"export", tiny.run_folder(name), again}).code == 0);
    const Safetensors theirs(model_folder(name) / "model.safetensors");
    const Safetensors ours(fs::path(again) / "model.safetensors");
    for (const std::string& tensor : theirs.names()) {
      if (tensor.ends_with("embed_positions.weight")) continue;  // sinusoids, of any length
      CAPTURE(tensor);
      REQUIRE(ours.contains(tensor));
      CHECK((ours.tensor(tensor) - theirs.tensor(tensor)).abs().max().item<double>() < 1e-6);
    }
  }
}

TEST_CASE("the configurations of taggers train") {
  const TinyTags tiny;
  for (const char* const name : {"base", "libreoffice-help"}) {
    const Outcome outcome =
        run({"train", fmt::format("{}/tagging/{}.yaml", CONFIGS, name), "--smoke", "--runs",
             tiny.runs().string(), "--data.train", tiny.file("train.conll"), "--data.validation",
             tiny.file("dev.conll"), "--tokenizer.file", tiny.file("vocab.txt"), "--model.layers",
             "1", "--model.width", "16", "--model.heads", "2", "--model.feed_forward", "16"});
    CAPTURE(outcome.errors);
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("a language model's folder is fine-tuned as a tagger") {
  const TinyTags tiny;
  tiny.write("from.yaml", fmt::format("task: tagging\nthreads: 1\nruns: {}\ndata: {{train: "
                                      "train.conll, validation: dev.conll, length: 16}}\n"
                                      "training: {{steps: 1, batch: 8}}\n",
                                      tiny.runs().string()));
  const Outcome taken = run({"train", tiny.file("from.yaml"), "--run", "bert", "--model.from",
                             model_folder("bert").string()});
  CAPTURE(taken.errors);
  REQUIRE(taken.code == 0);
  CHECK(has(read_file(tiny.runs() / "bert/log.txt"), "new: classifier.weight, classifier.bias"));
}
