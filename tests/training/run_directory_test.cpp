#include "training/run_directory.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/tokenizer.h"
#include "training/checkpoint.h"
#include "training/saved_run.h"

namespace roformer {
namespace fs = std::filesystem;
TEST_CASE("an existing run is refused, resumed or overwritten, never silently") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::resume), Catch::Contains("holds no run"));
  begin_run(path);
  write_file_atomically(path / "notes.txt", "mine");
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::refuse),
                    Catch::Contains("--resume") && Catch::Contains("--overwrite"));
  CHECK(RunDirectory(path, ExistingRun::resume).resumed());
  CHECK(fs::exists(path / "config.yaml"));
  {
    const RunDirectory run(path, ExistingRun::overwrite);
    CHECK_FALSE(run.resumed());
    CHECK_FALSE(fs::exists(path / "config.yaml"));
    run.confirm();
  }
  CHECK_FALSE(fs::exists(path / "config.yaml"));
  CHECK(read_file(path / "notes.txt") == "mine");
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::refuse), Catch::Contains("neither empty"));
}

TEST_CASE("the tokenizer of a run is overwritten with it, that of somebody else is not touched") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  for (const std::string& name : saved_tokenizer_names()) write_file_atomically(path / name, "{}");
  make_directories(path / "source");
  write_file_atomically(path / "source" / "vocab.txt", "of a translator");
  make_directories(path / "target");
  write_file_atomically(path / "target" / "notes.txt", "mine");
  RunDirectory(path, ExistingRun::overwrite).confirm();
  for (const std::string& name : saved_tokenizer_names()) CHECK_FALSE(fs::exists(path / name));
  CHECK_FALSE(fs::exists(path / "source"));
  CHECK(read_file(path / "target" / "notes.txt") == "mine");
  fs::remove_all(path / "target");
  // Nothing of the old run is in the way of a new one.
  CHECK_NOTHROW(RunDirectory(path, ExistingRun::refuse));

  const fs::path other = folder.path / "vocabularies";
  make_directories(other);
  write_file_atomically(other / "vocab.txt", "mine");
  CHECK_THROWS_WITH(RunDirectory(other, ExistingRun::overwrite), Catch::Contains("neither empty"));
  CHECK(read_file(other / "vocab.txt") == "mine");
}

TEST_CASE("an overwritten run is back where the new one ends before it is confirmed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  // Every kind of tokenizer has another file.
  const std::string vocabulary = GENERATE("vocab.txt", "words.json", "byte_level.json");
  write_file_atomically(path / vocabulary, "old");
  const auto is_old = [&] {
    CHECK(read_file(path / "config.yaml") == "seed: 1\n");
    CHECK(read_file(path / vocabulary) == "old");
    CHECK(names(path) == std::vector<std::string>{"step-00000010"});
    CHECK_FALSE(fs::exists(path / ".previous"));
    CHECK_FALSE(fs::exists(path / "summary.json"));
  };
  const auto begin_again = [&](const RunDirectory& run) {
    write_file_atomically(run.config(), "seed: 2\n");
    write_file_atomically(run.summary(), "{}");
    write_file_atomically(path / vocabulary, "new");
    save(path, 20, 2.0);
  };
  {
    const RunDirectory run(path, ExistingRun::overwrite);
    begin_again(run);
  }
  is_old();
  // Killed: before its files were all aside, as a new run, and when they were on their way back.
  const int moment = GENERATE(0, 1, 2);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory run(path, ExistingRun::overwrite);
    if (moment > 0) begin_again(run);
    if (moment == 0) {
      fs::rename(path / ".previous" / "config.yaml", path / "config.yaml");
      fs::rename(path / ".previous", path / ".previous.partial");
      fs::remove(path / "log.txt");
    }
    if (moment == 2) {
      for (const std::string& name :
           {std::string("config.yaml"), std::string("summary.json"), vocabulary,
            std::string("checkpoints"), std::string("log.txt")}) {
        fs::remove_all(path / name);
      }
      fs::rename(path / ".previous", path / ".previous.partial");
      fs::rename(path / ".previous.partial" / "checkpoints", path / "checkpoints");
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::refuse),
                    Catch::Contains("holds a run already"));
  is_old();
  {
    const RunDirectory run(path, ExistingRun::overwrite);
    begin_again(run);
    run.confirm();
  }
  CHECK(read_file(path / "config.yaml") == "seed: 2\n");
  CHECK(names(path) == std::vector<std::string>{"step-00000020"});
  CHECK_FALSE(fs::exists(path / ".outdated"));
}

TEST_CASE("a run in which a name of this program's is a link or a pipe is refused, untouched") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run", home = folder.path / "home";
  begin_run(path);
  save(path, 10, 2.0);
  fs::create_directories(home / "letters");
  write_file_atomically(home / "thesis.txt", "mine");
  const std::string name =
      GENERATE(".lock", "config.yaml", "log.txt", "metrics.jsonl", "summary.json", "run.json",
               "tensorboard", "checkpoints", ".previous", ".previous.partial", ".outdated",
               "config.yaml.partial", "vocab.txt", "checkpoints/step-00000010/state.json");
  const std::string target = GENERATE("thesis.txt", "letters", "new");
  fs::remove_all(path / name);
  fs::create_symlink(home / target, path / name);
  for (const ExistingRun existing : {ExistingRun::resume, ExistingRun::overwrite}) {
    CHECK_THROWS_WITH(RunDirectory(path, existing),
                      Catch::Contains((path / name).string() + ": is a link to ") ||
                          Catch::Contains("holds no run that"));
  }
  CHECK(read_file(home / "thesis.txt") == "mine");
  CHECK(fs::is_empty(home / "letters"));
  CHECK_FALSE(fs::exists(home / "new"));
  fs::remove(path / name);
  REQUIRE(::mkfifo((path / name).c_str(), 0600) == 0);
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::resume), Catch::Contains("is a named pipe"));
}

TEST_CASE("a run's own folder may be a link, and its other names the user's") {
  const TemporaryFolder folder;
  begin_run(folder.path / "elsewhere");
  fs::create_symlink("elsewhere", folder.path / "run");
  fs::create_symlink("/etc/hostname", folder.path / "elsewhere" / "notes.txt");
  CHECK(RunDirectory(folder.path / "run", ExistingRun::resume).resumed());
  RunDirectory(folder.path / "run", ExistingRun::overwrite).confirm();
  CHECK(fs::is_symlink(folder.path / "run"));
  CHECK(fs::is_symlink(folder.path / "elsewhere" / "notes.txt"));
}

TEST_CASE("checkpoints of another run are not pruned through a link") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path / "mine", evil = folder.path / "evil";
  begin_run(mine);
  for (const int step : {10, 20, 30}) save(mine, step, 2.0);
  begin_run(evil);
  fs::create_symlink(mine / "checkpoints", evil / "checkpoints");
  const InnerPath checkpoints = InnerPath::named(evil) / "checkpoints";
  CHECK_THROWS_WITH(prune_checkpoints(checkpoints, {.last = 1, .best = 1}),
                    Catch::Contains("checkpoints: is a link"));
  CHECK_THROWS_WITH(set_checkpoint_aside(checkpoints, "step-00000030"),
                    Catch::Contains("checkpoints: is a link"));
  CHECK(names(mine).size() == 3);
}

TEST_CASE("a run that was to overwrite nothing stays where it ends before it is confirmed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  {
    const RunDirectory run(path, ExistingRun::overwrite);
    CHECK(run.is_confirmed());
    write_file_atomically(run.config(), "seed: 1\n");
    write_file_atomically(path / "vocab.txt", "its own");
  }
  CHECK_NOTHROW(RunDirectory(path, ExistingRun::resume));
  CHECK(read_file(path / "vocab.txt") == "its own");
}

TEST_CASE("a run that could not begin leaves its name free, and its log") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  const auto begin = [&](const RunDirectory& run) {
    write_file_atomically(run.config(), "seed: 1\n");
    write_file_atomically(run.record(), "{}");
    write_file_atomically(path / "vocab.txt", "its own");
  };
  {
    const RunDirectory run(path, ExistingRun::refuse);
    begin(run);
    run.withdraw();
  }
  CHECK_FALSE(is_run(path));
  CHECK_FALSE(fs::exists(path / "vocab.txt"));
  CHECK(fs::exists(path / "log.txt"));
  {
    const RunDirectory run(path, ExistingRun::refuse);
    begin(run);
    run.confirm();
    run.withdraw();
  }
  CHECK(read_file(path / "vocab.txt") == "its own");
  RunDirectory(path, ExistingRun::resume).withdraw();
  CHECK(is_run(path));
}

TEST_CASE("a configuration on its way back from an overwriting is not taken for lost") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  write_file_atomically(path / "checkpoints" / "step-00000010" / "config.yaml", "seed: 0\n");
  make_directories(path / ".previous.partial");
  fs::rename(path / "config.yaml", path / ".previous.partial" / "config.yaml");
  recover_run(path);
  CHECK(read_file(path / "config.yaml") == "seed: 1\n");
}

TEST_CASE("a configuration that was lost or emptied is that of the last checkpoint again") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  save(path, 20, 2.0);
  const fs::path checkpoints = path / "checkpoints";
  write_file_atomically(checkpoints / "step-00000010" / "config.yaml", "seed: 1\n");
  write_file_atomically(checkpoints / "step-00000020" / "config.yaml", "");
  if (GENERATE(true, false)) {
    fs::remove(path / "config.yaml");
  } else {
    write_file_atomically(path / "config.yaml", "");
  }
  CHECK_THROWS_WITH(RunDirectory(path, ExistingRun::refuse), Catch::Contains("holds a run"));
  CHECK(read_file(path / "config.yaml") == "seed: 1\n");
}

TEST_CASE("a run killed while it wrote its configuration can be begun again") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  { const RunDirectory run(path, ExistingRun::refuse); }
  fs::copy_file(path / "log.txt", path / "config.yaml.partial");
  const auto existing = GENERATE(ExistingRun::refuse, ExistingRun::overwrite);
  CHECK_NOTHROW(RunDirectory(path, existing));
}

TEST_CASE("a second process on one run is refused") {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path / "run", ExistingRun::refuse);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const RunDirectory second(folder.path / "run", ExistingRun::overwrite);
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("in use by another process") != std::string::npos);
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("a study's folder names its runs where one of them is wanted") {
  const TemporaryFolder folder;
  begin_run(folder.path / "study" / "rope");
  begin_run(folder.path / "study" / "none");
  CHECK_THROWS_WITH(find_checkpoint(folder.path / "study"),
                    Catch::Contains("is a folder of runs, not a run (hint: name one of them: ") &&
                        Catch::Contains("study/none, ") && Catch::Contains("study/rope)"));
  CHECK_THROWS_WITH(find_checkpoint(folder.path / "study" / "rope"),
                    Catch::Contains("holds no checkpoint"));
}

TEST_CASE("a command that cannot go on with a run does not say --resume") {
  const TemporaryFolder folder;
  begin_run(folder.path / "run");
  CHECK_THROWS_WITH(refuse_existing(folder.path / "run", ExistingRun::refuse, "--run NAME"),
                    Catch::Contains("--overwrite") && !Catch::Contains("--resume"));
  CHECK_NOTHROW(refuse_existing(folder.path / "run", ExistingRun::overwrite, ""));
  CHECK_NOTHROW(refuse_existing(folder.path / "other", ExistingRun::refuse, ""));
}

}  // namespace roformer
