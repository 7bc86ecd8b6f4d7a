// evaluate, fill-mask, generate and doctor as a user meets them, on a run of a few steps.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "in_terminal.h"
#include "runs/tiny_run.h"
#include "runs/trained_model.h"
#include "said.h"
#include "tasks/language/evaluate_language.h"

using namespace roformer;

TEST_CASE("a masked model's run is evaluated and asked about masks") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string folder = tiny.run().string();

  SECTION("at several lengths, shifted, with pseudo-perplexity, as JSON and as a chart") {
    const std::string chart = (tiny.folder.path / "chart.html").string();
    const Outcome outcome =
        run({"evaluate", folder, "--length", "16,64", "--tokens", "320", "--shift", "100",
             "--pseudo-perplexity", "--sequences", "2", "--json", "--chart", chart});
    REQUIRE(outcome.code == 0);
    const auto result = nlohmann::json::parse(outcome.output);
    REQUIRE(result["evaluations"].size() == 4);
    CHECK(result["evaluations"][3]["length"] == 64);
    CHECK(result["evaluations"][3]["shift"] == 100);
    CHECK(result["evaluations"][3]["loss_change"].get<double>() == Approx(0).margin(1e-4));
    CHECK(result["evaluations"][0]["loss"].get<double>() > 1);
    CHECK(result["training_length"] == 32);
    CHECK(result["pseudo_perplexity"]["sequences"] == 2);
    CHECK(has(read_file(chart), "<svg"));
  }
  SECTION("row by row on the page, and on a screen with progress and time left") {
    const std::vector<std::string> words{"evaluate", folder, "--length",      "16,32,64",
                                         "--tokens", "320",  "--drop-middle", "0.25"};
    const Outcome outcome = run(words);
    REQUIRE(outcome.code == 0);
    const std::vector<std::string> lines = lines_of(outcome.output);
    REQUIRE(lines.size() >= 10);
    CHECK(
        std::ranges::all_of(lines, [](const std::string& line) { return line.size() <= 3 * 120; }));
    CHECK(has(lines.back(), "25% dropped"));
    if (!terminals_exist()) {
      WARN("not run on a screen: no pseudo-terminals here");
      return;
    }
    const std::string screen = in_terminal(80, [&] {
      std::vector<std::string> all = words;
      all.insert(all.begin(), "roformer");
      std::vector<char*> arguments;
      for (std::string& word : all) arguments.push_back(word.data());
      ::_exit(
          run_program(*make_whole_program(), static_cast<int>(arguments.size()), arguments.data()));
    });
    CHECK(has(screen, "evaluating    0 %"));
    CHECK(has(screen, "evaluating: 1,920 tokens in "));
    CHECK(screen.find("masked") < screen.find("evaluating: 1,920 tokens"));
  }
  SECTION("stopped by a signal, with the rows that are finished") {
    const EvaluationRequest request{.lengths = {16, 32, 64}, .tokens = 320};
    std::size_t rows = 0;
    const OnRow on_row = [&](const EvaluationReport& so_far, const EvaluationReport& expected) {
      rows = so_far.lengths.size();
      CHECK(expected.lengths.size() == 3);
      CHECK(expected.lengths.back().length == 64);
      if (rows == 2) ::raise(SIGINT);
    };
    const EvaluationReport report =
        evaluate_language_run(open_run_of<LanguageModel>(folder), request, on_row);
    CHECK(rows == 2);
    CHECK(report.lengths.size() == 2);
    CHECK(report.signal == SIGINT);
    CHECK(to_json(report, false)["stopped"] == true);
    const EvaluationReport whole =
        evaluate_language_run(open_run_of<LanguageModel>(folder), request);
    CHECK(whole.lengths[1].figures.loss == report.lengths[1].figures.loss);
    CHECK_FALSE(to_json(whole, false).contains("stopped"));
  }
  SECTION("with the error of the loss, the precision, and another run on the same targets") {
    const Outcome text = run({"evaluate", folder, "--against", folder});
    CAPTURE(text.errors);
    REQUIRE(text.code == 0);
    CHECK(has(text.output, "evaluated in fp32"));
    CHECK(has(text.output, "±"));
    CHECK(has(text.output, "+0.0000 ± 0.0000 nats"));
    const auto json =
        nlohmann::json::parse(run({"evaluate", folder, "--against", folder, "--json"}).output);
    CHECK(json["precision"] == "fp32");
    CHECK(json["evaluations"][0]["loss_standard_error"].get<double>() > 0);
    CHECK(json["evaluations"][0]["against"]["difference"] == 0);
  }
  SECTION("a length that the other run's table does not have is refused before anything runs") {
    const TinyRun learned("learned");
    train_run(learned.settings, ExistingRun::refuse);
    const Outcome outcome =
        run({"evaluate", folder, "--against", learned.run().string(), "--length", "16,1024"});
    CHECK(outcome.code == 2);
    CHECK(has(outcome.errors, "--length"));
    CHECK(outcome.output.empty());
    CHECK(
        run({"evaluate", folder, "--against", learned.run().string(), "--length", "16,32"}).code ==
        0);
  }
  SECTION("the loss at each position is CSV") {
    const Outcome outcome =
        run({"evaluate", folder, "--by-position", "--tokens", "640", "--drop-middle", "0.25"});
    REQUIRE(outcome.code == 0);
    CHECK(outcome.output.starts_with(
        "length,shift,drop_middle,shuffle_blocks,position,targets,loss\n"));
    CHECK(has(outcome.output, "\n32,0,0.25,0,"));
  }
  SECTION("on the test set, where there is one") {
    const Outcome none = run({"evaluate", folder, "--split", "test"});
    CHECK(none.code == 2);
    CHECK(has(none.errors, "has no test set (hint: prepare it with --test-fraction"));
    const std::string text = (tiny.folder.path / "more.txt").string();
    std::ofstream(text) << "Click the button. The menu opens.\n\nClick the other button, the other "
                           "menu opens, the dialog closes and the file is saved under its name.\n";
    const std::string data = (tiny.folder.path / "with-test").string();
    REQUIRE(run({"data", "prepare", text, "--test", text, text, "--validation", text, "--bytes",
                 "--output", data})
                .code == 0);
    const auto evaluated = [&](const std::string& split) {
      const Outcome outcome =
          run({"evaluate", folder, "--data", data, "--split", split, "--length", "8", "--json"});
      CAPTURE(outcome.errors);
      REQUIRE(outcome.code == 0);
      return nlohmann::json::parse(outcome.output);
    };
    const auto validation = evaluated("validation"), test = evaluated("test");
    CHECK(test["split"] == "test");
    CHECK(test["evaluations"][0]["tokens"].get<int>() >
          validation["evaluations"][0]["tokens"].get<int>());
  }
  SECTION("not on another division of the text that it was trained on") {
    const std::string other = (tiny.folder.path / "other").string();
    REQUIRE(run({"data", "prepare", (tiny.folder.path / "text.txt").string(), "--bytes", "--seed",
                 "5", "--output", other})
                .code == 0);
    const Outcome refused = run({"evaluate", folder, "--data", other});
    CHECK(refused.code == 2);
    CHECK(has(refused.errors, "splits the text that the run was trained on differently"));
    // The same division elsewhere is the same set, and another text is another text.
    std::filesystem::copy(tiny.data(), tiny.folder.path / "same",
                          std::filesystem::copy_options::recursive);
    CHECK(run({"evaluate", folder, "--data", (tiny.folder.path / "same").string()}).code == 0);
    // So with the average of its checkpoints.
    const std::string average = (tiny.folder.path / "average").string();
    REQUIRE(run({"average", folder, "--last", "1", "--output", average}).code == 0);
    CHECK(run({"evaluate", average, "--data", other}).code == 2);
    // In the place of the run's own set, too.
    std::filesystem::remove_all(tiny.data());
    std::filesystem::rename(other, tiny.data());
    CHECK(has(run({"evaluate", folder}).errors, "differently"));
  }
  SECTION("what its weights never met is one line, and the header names the flags") {
    Outcome plain;
    const std::string nothing = said([&] { plain = run({"evaluate", folder, "--length", "64"}); });
    CHECK_FALSE(has(nothing, "trained with"));
    CHECK_FALSE(has(nothing, "untrained"));
    CHECK_FALSE(has(plain.output, "with --"));
    const Outcome other = run({"evaluate", folder, "--position", "alibi", "--threads", "1"});
    REQUIRE(other.code == 0);
    CHECK(has(said([&] {
                run({"evaluate", folder, "--position", "alibi"});
              }),
              "position alibi: the weights were trained with rope, never with "
              "alibi"));
    CHECK(has(other.output, "evaluated in fp32, with --position alibi\n"));
    const Outcome json = run({"evaluate", folder, "--position", "alibi", "--json"});
    CHECK(nlohmann::json::parse(json.output)["overrides"]["position"] == "alibi");
    CHECK_FALSE(
        nlohmann::json::parse(run({"evaluate", folder, "--json"}).output).contains("overrides"));
    CHECK(said([&] {
            run({"evaluate", folder, "--position", "rerope"});
          }).find("never with") == std::string::npos);
    const TinyRun learned("learned");
    train_run(learned.settings, ExistingRun::refuse);
    const std::string table = learned.run().string();
    CHECK(has(said([&] {
                run({"evaluate", table, "--length", "32,64"});
              }),
              "rows of 64 tokens are longer than the training rows (32): position learned has "
              "untrained parameters beyond them"));
    CHECK(has(said([&] { run({"evaluate", table, "--shift", "1"}); }), "rows of 33 tokens"));
    CHECK_FALSE(has(said([&] { run({"evaluate", table}); }), "untrained"));
  }
  SECTION("a copied run says how it is told where its data are") {
    std::filesystem::rename(tiny.data(), tiny.folder.path / "moved");
    const Outcome outcome = run({"evaluate", folder});
    CHECK(outcome.code == 1);
    CHECK(has(outcome.errors, "say where they are: --data FOLDER"));
    CHECK(run({"evaluate", folder, "--data", (tiny.folder.path / "moved").string()}).code == 0);
  }
  SECTION("mistakes are one line") {
    CHECK(has(run({"evaluate", folder, "--length", "16,x"}).errors, "--length"));
    CHECK(run({"evaluate", folder, "--length", "16,x"}).code == 2);
    CHECK(has(run({"evaluate", folder, "--position", "learned"}).errors, "parameters differ"));
    CHECK(has(run({"evaluate", folder, "--model.width", "64"}).errors, "does not take"));
    CHECK(has(run({"evaluate", folder, "--position.t5.buckets", "8"}).errors,
              "is an option of t5, and the positions are rope"));
    CHECK(has(run({"evaluate", folder, "--chart", "a.png"}).errors, "--chart"));
    CHECK(run({"evaluate", (tiny.folder.path / "nothing").string()}).code == 1);
    CHECK(has(run({"generate", folder, "Click"}).errors, "fill-mask"));
    CHECK(run({"fill-mask", folder, "no mask here"}).code == 2);
  }
  SECTION("masks of standard input, one object a line") {
    const Outcome outcome = run({"fill-mask", folder, "--json", "--top", "2"},
                                "Click the [MASK]ed [MASK]\nno mask\n\xff [MASK]\n");
    REQUIRE(outcome.code == 0);
    std::istringstream lines(outcome.output);
    std::vector<nlohmann::json> objects;
    for (std::string line; std::getline(lines, line);) {
      objects.push_back(nlohmann::json::parse(line));
    }
    REQUIRE(objects.size() == 3);
    CHECK(objects[0]["masks"].size() == 2);
    CHECK(objects[0]["masks"][1]["predictions"].size() == 2);
    CHECK(objects[1]["masks"].empty());
    CHECK(objects[2]["masks"].size() == 1);
    CHECK(objects[2]["text"] == "\xef\xbf\xbd [MASK]");
    const Outcome text = run({"fill-mask", folder, "--top", "1"}, "a [MASK]\r\n\nnone\nb [MASK]\n");
    REQUIRE(lines_of(text.output).size() == 4);
    CHECK((lines_of(text.output)[1].empty() && lines_of(text.output)[2].empty()));
  }
}

TEST_CASE("a causal model's run writes text") {
  const TinyRun tiny("rope", {{"task", "causal_lm"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string folder = tiny.run().string();
  const std::vector<std::string> words = {"generate", folder,      "Click", "--tokens",
                                          "12",       "--samples", "2",     "--json"};
  const Outcome outcome = run(words);
  REQUIRE(outcome.code == 0);
  CHECK(run(words).output == outcome.output);
  std::istringstream lines(outcome.output);
  std::string line;
  REQUIRE(std::getline(lines, line));
  const auto object = nlohmann::json::parse(line);
  CHECK(object["text"].get<std::string>().starts_with("Click"));
  CHECK(object["ids"].size() <= 12);
  const auto text_of = [](const Outcome& generated) {
    return nlohmann::json::parse(lines_of(generated.output).at(0))["text"].get<std::string>();
  };
  const std::string text = text_of(outcome);
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto letter = std::find_if(text.begin() + 5, text.end(), is_letter);  // after "Click"
  REQUIRE(letter != text.end());
  const std::string stop(1, *letter);
  std::vector<std::string> stopped = words;
  stopped.insert(stopped.end(), {"--stop", "no such text", "--stop", stop});
  CHECK(text_of(run(stopped)) == std::string(text.begin(), letter));
  const std::vector<std::string> live = {"generate", folder, "Click", "--tokens", "12"};
  const std::string whole = run(live).output;
  stopped = live;
  stopped.insert(stopped.end(), {"--stop", stop});
  CHECK(run(stopped).output == whole.substr(0, whole.find(stop, 5)) + "\n");
  CHECK(run({"generate", folder, "Click", "--top-p", "0"}).code == 2);
  CHECK(has(run({"fill-mask", folder, "a [MASK]"}).errors, "generate"));
  const auto evaluated = nlohmann::json::parse(run({"evaluate", folder, "--json"}).output);
  CHECK(evaluated["evaluations"][0]["bits_per_character"].get<double>() > 1);
}

TEST_CASE("doctor says what it found and measured") {
  CHECK(run({"doctor", "--threads", "9999"}).code == 2);
  const Outcome outcome = run({"doctor", "--json", "--threads", "1"});
  REQUIRE(outcome.code == 0);
  const auto found = nlohmann::json::parse(outcome.output);
  CHECK(found["threads"] == 1);
  CHECK(found["cores"].get<int>() >= 1);
  CHECK(found["memory_bytes"].get<double>() > 1e8);
  CHECK(found["matmul"]["fp32"]["gflops_per_s"].get<double>() > 0.1);
  CHECK(found["matmul"]["bf16"]["gflops_per_s"].get<double>() > 0);
  CHECK(found["automatic"]["reason"].get<std::string>().size() > 10);
}

TEST_CASE("linear attention says how near its denominators come to zero") {
  const TinyRun tiny("rope", {{"task", "causal_lm"}, {"attention.kernel", "elu"}});
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string folder = tiny.run().string();
  CHECK(has(run({"evaluate", folder}).output, "Small denominators of linear attention"));
  const auto json = nlohmann::json::parse(run({"evaluate", folder, "--json"}).output);
  CHECK(json["evaluations"][0]["least_denominator"].get<double>() > 0);
  CHECK(json["evaluations"][0]["small_denominators"].get<double>() <= 1);
  CHECK(has(read_file(tiny.run() / "metrics.jsonl"), "small_denominators"));
}
