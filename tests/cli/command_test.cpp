// The command line as a user meets it: exit codes, one line of message, hints.
#include "cli/command.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "catch.h"
#include "cli/run_command.h"
#include "experiments/made_record.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// Runs a program with one command, `train CONFIG --overwrite`, and `config`.
struct Program {
  CLI::App app{"A test", "roformer"};
  std::string config;
  bool overwrite = false;
  std::vector<Override> overrides;
  std::function<void()> action = [] {};

  Program() {
    app.set_version_flag("--version", "roformer 0.0.0");
    CLI::App* train = add_command(
        app, {.name = "train", .summary = "Train", .details = "", .group = "Train and evaluate"});
    train->add_option("config", config, "configuration file")->required();
    train->add_flag("--overwrite", overwrite, "begin again");
    accept_settings(*train, overrides);
    train->callback([this] { action(); });
    add_config_command(app);
  }

  Outcome run(std::vector<std::string> words) { return run_command(app, std::move(words)); }
};

}  // namespace

TEST_CASE("keys of the configuration are flags, before and after the words, with = or without") {
  Program program;
  const Outcome outcome =
      program.run({"train", "--training.steps", "5", "a.yaml", "--seed=2", "--overwrite",
                   "--position", "rope", "--position.base", "-1"});
  CHECK(outcome.code == 0);
  CHECK(program.config == "a.yaml");
  CHECK(program.overwrite);
  std::string given;
  for (const Override& flag : program.overrides) given += flag.key + "=" + flag.text + " ";
  CHECK(has(given, "training.steps=5 "));
  CHECK(has(given, "seed=2 "));
  CHECK(has(given, "position=rope "));
  CHECK(has(given, "position.base=-1 "));
  CHECK(program.overrides.size() == 4);
}

TEST_CASE("an unknown flag or command is refused with the nearest one") {
  CHECK(Program().run({"train", "--trainig.steps", "5", "a.yaml"}).errors ==
        "error: --trainig.steps: unknown flag (hint: did you mean --training.steps)\n");
  CHECK(Program().run({"train", "a.yaml", "--overwrit"}).errors ==
        "error: --overwrit: unknown flag (hint: did you mean --overwrite)\n");
  CHECK(Program().run({"trian", "a.yaml"}).errors ==
        "error: \"trian\": unknown command (hint: did you mean train)\n");
  CHECK(
      Program().run({"train", "a.yaml", "b.yaml"}).errors ==
      "error: \"b.yaml\": not expected (hint: put texts with blanks in quotes, and give every flag "
      "its value; roformer train --help)\n");
  CHECK(Program().run({"train", "a.yaml", "--seed"}).errors ==
        "error: --seed: needs a value (hint: roformer train --help)\n");
  CHECK(Program().run({"config", "keys", "--format", "markdwon"}).errors ==
        "error: --format: got \"markdwon\", wanted one of text, markdown (hint: did you mean "
        "markdown)\n");
  CHECK(Program().run({"train"}).errors ==
        "error: config is required (hint: roformer train --help)\n");
  CHECK(Program().run({"train"}).code == 2);
}

TEST_CASE("an error line holds no command for a terminal, whoever composed it") {
  const std::string foreign =
      "\x1b]0;x\x07\xc2\x9b"
      "31m\xe2\x80\xae";
  Program failing;
  failing.action = [&] { throw_failure(foreign, foreign, foreign); };
  Program broken;
  broken.action = [&] { throw std::runtime_error(foreign); };
  for (const Outcome& outcome :
       {failing.run({"train", "a.yaml"}), broken.run({"train", "a.yaml"}),
        Program().run({"train", "a.yaml", foreign}),
        Program().run({"train", "a.yaml", "--" + foreign}), Program().run({foreign}),
        Program().run({"train", "a.yaml", "--seed", foreign, foreign})}) {
    CAPTURE(outcome.errors);
    CHECK(outcome.code > 0);
    CHECK(has(outcome.errors, "?]0;x??31m?"));
    for (const char* bad : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae"}) {
      CHECK_FALSE(has(outcome.errors, bad));
    }
  }
}

TEST_CASE("errors become one line each and an exit code") {
  const auto outcome = [](std::function<void()> action) {
    Program program;
    program.action = std::move(action);
    return program.run({"train", "a.yaml"});
  };
  const Outcome failure = outcome([] { throw_failure("x.bin", "is empty", "make it again"); });
  CHECK(failure.code == 1);
  CHECK(failure.errors == "error: x.bin: is empty (hint: make it again)\n");
  const Outcome usage = outcome([] { throw_usage("", "a.yaml:1: one\na.yaml:2: two"); });
  CHECK(usage.code == 2);
  CHECK(usage.errors == "error: a.yaml:1: one\nerror: a.yaml:2: two\n");
  CHECK(outcome([] { ROFORMER_ASSERT(1 == 2); }).code == 70);
  // A training that a signal stopped has said so itself.
  const Outcome stopped = outcome([] { throw CLI::RuntimeError(143); });
  CHECK(stopped.code == 143);
  CHECK(stopped.errors.empty());
  CHECK(has(outcome([] { ROFORMER_ASSERT(1 == 2); }).errors, "error: internal error: 1 == 2"));
  CHECK(outcome([] { throw std::runtime_error("other"); }).code == 1);
}

TEST_CASE("help fits a newcomer") {
  const Outcome alone = Program().run({});
  CHECK(alone.code == 0);
  CHECK(has(alone.output, "Train and evaluate:\n  train "));
  const Outcome train = Program().run({"train", "--help"});
  CHECK(train.code == 0);
  CHECK(has(train.output, "--overwrite"));
  CHECK(has(train.output, "roformer config keys"));
  CHECK(train.output.size() < 3000);  // not all the keys
  CHECK(Program().run({"--version"}).output == "roformer 0.0.0\n");
}

TEST_CASE("the help of every command fits a terminal of 80 columns") {
  const auto commands_of = [](std::vector<std::string> words) {
    words.emplace_back("--help");
    const std::string text = run(words).output;
    std::istringstream lines(text);
    std::vector<std::string> commands;
    bool listed = false;
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <= 80);
      if (line.empty()) listed = false;
      if (listed && line.size() > 2 && line[2] != ' ') {
        commands.push_back(line.substr(2, line.find(' ', 2) - 2));
      }
      listed |= line.ends_with(':') && line != "Options:" && line != "Positionals:" &&
                text.find("SUBCOMMAND") != std::string::npos;
    }
    return commands;
  };
  const std::vector<std::string> commands = commands_of({});
  CHECK(commands.size() > 15);
  std::size_t below = 0;
  for (const std::string& command : commands) {
    for (const std::string& inner : commands_of({command})) {
      ++below;
      commands_of({command, inner});
    }
  }
  CHECK(below > 15);
}

TEST_CASE("files may be called as commands are") {
  CHECK(has(run({"config", "keys", "data"}).output, "data.directory\n"));
  CHECK(has(run({"config", "check", "train"}).errors, "train: no such file"));
  CHECK(has(run({"train", "data"}).errors, "data: no such file"));
  const TemporaryFolder folder;
  const std::string train = (folder.path / "train").string();
  write_file_atomically(train, "a text\n\nanother text\n");
  const std::string output = (folder.path / "out").string();
  CHECK(run({"data", "prepare", train, "score", "--bytes", "--output", output}).code == 1);
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("a run goes on without its file, and a study is nobody's process") {
  const TinyRun tiny("rope");
  train_run(tiny.settings, ExistingRun::refuse);
  const std::string runs = (tiny.folder.path / "runs").string();
  const Outcome more =
      run({"train", "--resume", "--run", "tiny", "--runs", runs, "--training.steps", "4"});
  CHECK(more.code == 0);
  CHECK(has(more.output, "tiny: 4 steps"));
  CHECK(has(run({"train", "--resume", "--run", "other", "--runs", runs}).errors, "holds no run"));
  for (const char* name : {"/other", "/v1.2"}) {
    CHECK(has(run({"train", runs + name, "--resume"}).errors, "there is no such run"));
  }
  CHECK(has(run({"train", runs + "/other.yaml", "--resume"}).errors, "no such file"));
  // In a copy of the project it is the copy that goes on.
  const std::filesystem::path copy = tiny.folder.path / "copy";
  std::filesystem::create_directories(copy);
  for (const char* part : {"runs", "data"}) {
    std::filesystem::copy(tiny.folder.path / part, copy / part,
                          std::filesystem::copy_options::recursive);
  }
  const std::string original = read_file(tiny.run() / "config.yaml");
  const Outcome copied = run({"train", "--resume", "--run", "tiny", "--runs",
                              (copy / "runs").string(), "--training.steps", "6"});
  CHECK(has(copied.output, (copy / "runs" / "tiny").string() + ": 6 steps"));
  CHECK(run({"train", (copy / "runs" / "tiny" / "config.yaml").string(), "--resume",
             "--training.steps", "8"})
            .code == 0);
  CHECK(std::filesystem::exists(copy / "runs" / "tiny" / "checkpoints" / "step-00000008"));
  CHECK_FALSE(std::filesystem::exists(tiny.run() / "checkpoints" / "step-00000006"));
  CHECK(read_file(tiny.run() / "config.yaml") == original);

  const std::string study = (tiny.folder.path / "s.yaml").string();
  write_file_atomically(study, "matrix: {position: [rope, none]}\n");
  for (const auto& [name, value] : {std::pair("RANK", "0"),
                                    {"WORLD_SIZE", "2"},
                                    {"LOCAL_RANK", "0"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", "29555"}}) {
    ::setenv(name, value, 1);
  }
  CHECK(run({"study", study, "--runs", runs, "--dry-run"}).code == 0);
  CHECK(run({"study", study, "--runs", runs, "--dry-run", "--shard", "3/2"}).code == 2);
  const std::string tested = (tiny.folder.path / "tested.yaml").string();
  write_file_atomically(tested,
                        "matrix: {position: [rope, none]}\n"
                        "evaluate: {split: test, lengths: [32]}\n");
  const Outcome untested =
      run({"study", tested, "--runs", runs, "--data.directory", tiny.data().string(), "--dry-run"});
  CHECK(untested.code == 2);
  CHECK(has(untested.errors, "has no test set"));
  const Outcome launched =
      run({"study", study, "--runs", runs, "--data.directory", tiny.data().string()});
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    ::unsetenv(name);
  }
  CHECK(launched.code == 2);
  CHECK(has(launched.errors, "each of which would run all of it"));
}

TEST_CASE("a study writes over nothing that it reads, and over records alone") {
  const TemporaryFolder folder;
  const std::string study = (folder.path / "s.yaml").string();
  const std::string text = "matrix: {position: [rope, none]}\n";
  write_file_atomically(study, text);
  const Outcome record = run({"study", study, "--record", study});
  CHECK(record.code == 2);
  CHECK(has(record.errors, "is there, and a record alone is replaced"));
  MadeRecord made;
  const std::string kept = made.write({{"rope", "1", 3.0}, {"rope", "2", 3.1}}).string();
  const Outcome lost = run({"study", (made.path / "tiny.yaml").string(), "--position", "none",
                            "--seed", "1", "--record", kept});
  CHECK(lost.code == 2);
  CHECK(has(lost.errors, "would lose them: rope-seed1, rope-seed2"));
  const Outcome page = run({"study", "--merge", study, "--page", study});
  CHECK(page.code == 2);
  CHECK(has(page.errors, "is to be an HTML page"));
  CHECK(read_file(study) == text);
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--jobs", "3"}, {"--overwrite"}, {"--position", "rope"}}) {
    std::vector<std::string> words{"study", "--render", study};
    words.insert(words.end(), flags.begin(), flags.end());
    CHECK(has(run(words).errors,
              flags[0] + ": does not apply to a record, whose runs are made already"));
  }
  // One place, whatever is in its name.
  CHECK(has(run({"study", study, "--runs", "a,b", "--dry-run", "--format", "csv"}).output,
            "rope,not begun"));
}

TEST_CASE("config dump, check, diff and keys") {
  CHECK(has(Program().run({"config", "dump", "--compact", "--seed", "9"}).output, "\nseed: 9\n"));
  CHECK(has(Program().run({"config", "dump", "--json"}).output, "\"task\": \"mlm\""));
  CHECK(has(Program().run({"config", "keys", "training.st"}).output, "training.steps\n    period"));
  CHECK(Program().run({"config", "keys", "trainings"}).code == 2);
  CHECK(Program().run({"config", "check", "gone.yaml"}).code == 2);
  CHECK(Program().run({"config"}).code == 2);
  const std::string base = std::string(FIXTURES) + "/../../configs/";
  CHECK(Program()
            .run({"config", "diff", base + "bench/mlm-small.yaml", base + "bench/mlm-small.yaml"})
            .output.empty());
  CHECK(has(Program().run({"config", "check", base + "study/quickstart.yaml"}).output,
            "good, a study of 4 runs"));
}

TEST_CASE("config check refuses a study in which runs cannot be made, and names them all") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "a.yaml").string();
  write_file_atomically(file, "task: mlm\nmatrix: {position: [rope, cope, fox]}\n");
  const Outcome outcome = Program().run({"config", "check", file});
  CHECK(outcome.code == 2);
  CHECK_FALSE(has(outcome.output, "good"));
  CHECK(has(outcome.errors, "a.yaml: cope cannot be made: "));
  CHECK(has(outcome.errors, "a.yaml: fox cannot be made: "));
}

TEST_CASE("config check says what a run will export as, or why as nothing") {
  const TemporaryFolder folder;
  const auto checked = [&](const std::string& text) {
    const std::string file = (folder.path / "a.yaml").string();
    write_file_atomically(file, text);
    return run({"config", "check", file}).output;
  };
  CHECK(has(checked("task: mlm\n"), "\n  exports as RoFormerForMaskedLM\n"));
  CHECK(has(checked("task: mlm\nposition: t5\n"),
            "\n  cannot be exported: transformers' BERT, RoFormer, NEZHA and"));
  CHECK(has(checked("task: mlm\nposition: t5\n"), "not t5"));
  CHECK(
      has(checked("matrix: {position: [rope, learned, none]}\n"), "  learned: exports as BertFor"));
  CHECK_FALSE(has(checked("task: probe\n"), "export"));
  CHECK_FALSE(has(checked("model: {from: nowhere}\n"), "export"));
}

TEST_CASE("a table in a pipe is a page wide") {
  for (const std::string& line : lines_of(run({"positions", "list"}).output)) {
    CAPTURE(line);
    CHECK(columns_of(line) <= 120);
  }
}

TEST_CASE("config check looks for the data, and a number out of its bounds fits on a line") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "a.yaml").string();
  write_file_atomically(file, "task: mlm\ndata: {directory: nowhere}\n");
  const Outcome outcome = Program().run({"config", "check", file});
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "good, but its data are not there\n"));
  CHECK(has(outcome.output, "no such prepared data set"));

  CLI::App program("test", "roformer");
  double number = 1;
  program.add_option("--top", number)->check(positive());
  program.add_option("--from", number)->check(not_negative());
  CHECK(has(run_command(program, {"--top", "0"}).errors, "--top: is 0, wanted a number above 0"));
  CHECK(run_command(program, {"--top", "0.5", "--from", "0"}).code == 0);
  CHECK(run_command(program, {"--from", "-1"}).code == 2);
  CHECK(run_command(program, {"--from", "x"}).code == 2);
}

TEST_CASE("an error of LibTorch's is its first line, and a lack of memory says what would help") {
  const auto said = [](const std::string& text) {
    Program program;
    program.action = [text] { throw std::runtime_error(text); };
    const Outcome outcome = program.run({"train", "a.yaml"});
    CHECK(outcome.code == 1);
    CHECK(std::count(outcome.errors.begin(), outcome.errors.end(), '\n') == 1);
    return outcome.errors;
  };
  CHECK(said("shapes differ\nException raised from check at x.cpp:1\nframe #0: ...") ==
        "error: shapes differ\n");
  CHECK(said("[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate "
             "memory: you tried to allocate 4294967296 bytes. Error code 12 (Cannot allocate "
             "memory)\nframe #0: ...")
            .starts_with("error: not enough memory for another 4.0 GiB (hint: a smaller batch "));
  CHECK(said("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total of 8 GiB")
            .starts_with("error: not enough memory for another 2.5 GiB (hint: "));
  Program program;
  program.action = [] { throw std::bad_alloc(); };
  CHECK(has(program.run({"train", "a.yaml"}).errors, "error: not enough memory (hint: "));
}
