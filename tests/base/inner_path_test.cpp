#include "base/inner_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

namespace fs = std::filesystem;

// A folder of the user's beside a run that a stranger made.
struct Place {
  TemporaryFolder folder;
  fs::path home = folder.path / "home", run = folder.path / "run";

  Place() {
    fs::create_directories(home / "letters");
    fs::create_directories(run);
    write_file_atomically(home / "thesis.txt", "mine");
    write_file_atomically(home / "letters" / "one", "mine");
  }
  void link(const fs::path& name, const fs::path& target) const {
    fs::create_directories((run / name).parent_path());
    fs::create_symlink(target, run / name);
  }
  void require_untouched() const {
    CHECK(read_file(home / "thesis.txt") == "mine");
    CHECK(read_file(home / "letters" / "one") == "mine");
    CHECK(std::distance(fs::directory_iterator(home), {}) == 2);
    CHECK(std::distance(fs::directory_iterator(home / "letters"), {}) == 1);
  }
};

constexpr const char* kRefusal = "nothing is written through links";

}  // namespace

TEST_CASE("a name of ours that is a link is not written through") {
  const Place place;
  const InnerPath run = InnerPath::named(place.run);
  place.link("config.yaml", "../home/thesis.txt");
  CHECK_THROWS_WITH(write_file_atomically(run / "config.yaml", "evil"),
                    (place.run / "config.yaml").string() +
                        ": is a link to \"../home/thesis.txt\", and nothing is written through "
                        "links inside a run, a study or an output (hint: remove the link; the "
                        "run's or the study's own folder may be one)");
  CHECK_THROWS_WITH(write_file_atomically(place.run / "config.yaml", "evil"),
                    Catch::Contains(kRefusal));  // of a plain path the last name is ours
  place.link("later", "../home/.profile");       // there is no such file
  CHECK_THROWS_WITH((run / "later").open(O_WRONLY | O_CREAT | O_APPEND),
                    Catch::Contains("is a link to \"../home/.profile\""));
  CHECK_THROWS_WITH(log::FileSink(run / "later"), Catch::Contains(kRefusal));
  place.link("value.partial", "../home/thesis.txt");
  CHECK_THROWS_WITH(write_file_atomically(run / "value", "evil"),
                    Catch::Contains("value.partial: is a link"));
  CHECK_THROWS_WITH(write_file_atomically(InnerPath::named(place.run / "value"), "evil"),
                    Catch::Contains("value.partial: is a link"));
  place.require_untouched();
  CHECK(fs::is_symlink(place.run / "config.yaml"));
}

TEST_CASE("a folder of ours that is a link is not written into, emptied or renamed") {
  const Place place;
  const InnerPath run = InnerPath::named(place.run);
  place.link("checkpoints", "../home");
  const InnerPath inside = run / "checkpoints" / "letters";
  CHECK_THROWS_WITH(inside.make_folder(), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH((inside / "new").make_folder(), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH(inside.remove_all(), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH(inside.rename_to(run / "letters"), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH((run / "checkpoints").rename_to(run / "other"), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH(write_file_atomically(inside / "one", "evil"), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH((run / "checkpoints").make_folder(), Catch::Contains(kRefusal));
  CHECK_THROWS_WITH(run.require_plain_tree(), Catch::Contains("checkpoints: is a link"));
  // A link is removed, and what it leads to is not.
  CHECK_FALSE((run / "checkpoints").remove_all());
  CHECK_FALSE(fs::is_symlink(place.run / "checkpoints"));
  place.link("a/b/c", "../../../home");
  CHECK_THROWS_WITH(run.require_plain_tree(), Catch::Contains("a/b/c: is a link"));
  CHECK_FALSE((run / "a").remove_all());
  CHECK_FALSE(fs::exists(place.run / "a"));
  place.require_untouched();
}

TEST_CASE("links in what the user names are followed") {
  const Place place;
  const fs::path link = place.folder.path / "link";
  fs::create_symlink("home", link);
  write_file_atomically(InnerPath::named(link) / "letters" / "two", "new");
  CHECK(read_file(place.home / "letters" / "two") == "new");
  write_file_atomically(link / "three", "new");
  CHECK(read_file(place.home / "three") == "new");
  (InnerPath::named(link / "more") / "a" / "b").make_folder();
  CHECK(fs::is_directory(place.home / "more" / "a" / "b"));
  CHECK_FALSE((InnerPath::named(link) / "letters" / "two").rename_to(InnerPath(link / "four")));
  CHECK(read_file(place.home / "four") == "new");
  CHECK_FALSE((InnerPath::named(link) / "more").remove_all());
  CHECK_FALSE(fs::exists(place.home / "more"));
  CHECK_FALSE((InnerPath::named(link) / "more" / "not" / "there").remove_all());
}

TEST_CASE("a name of ours that is a pipe is neither waited for nor written to") {
  const Place place;
  const InnerPath run = InnerPath::named(place.run);
  for (const char* const name : {"log.txt", "value.partial"}) {
    REQUIRE(::mkfifo((place.run / name).c_str(), 0600) == 0);
  }
  for (const int flags : {O_RDONLY, O_WRONLY | O_APPEND, O_RDWR | O_CREAT}) {
    CHECK_THROWS_WITH((run / "log.txt").open(flags),
                      Catch::Contains("is a named pipe, not a file"));
  }
  CHECK_THROWS_WITH(write_file_atomically(run / "log.txt", "x"), Catch::Contains("a named pipe"));
  CHECK_THROWS_WITH(write_file_atomically(run / "value", "x"), Catch::Contains("a named pipe"));
  CHECK_THROWS_WITH(run.require_plain_tree(), Catch::Contains("a named pipe"));
}

TEST_CASE("a hard link of ours is not written through") {
  const Place place;
  const InnerPath run = InnerPath::named(place.run);
  for (const char* const name : {"log.txt", "value.partial", "value"}) {
    fs::create_hard_link(place.home / "thesis.txt", place.run / name);
  }
  for (const int flags : {O_WRONLY | O_APPEND, O_RDWR | O_CREAT}) {
    CHECK_THROWS_WITH((run / "log.txt").open(flags), Catch::Contains("is a hard link"));
  }
  CHECK((run / "log.txt").open(O_RDONLY));
  write_file_atomically(run / "value", "x");
  CHECK(read_file(place.run / "value") == "x");
  place.require_untouched();
}

TEST_CASE("an output is not gone on with through links") {
  const Place place;
  const OutputFolder::Options options{.output = place.run / "data",
                                      .overwrite = true,
                                      .flag = "--output",
                                      .contents = "data",
                                      .is_replaceable = [](const fs::path&) { return true; },
                                      .journal = "journal"};
  // As if a killed process had left it.
  write_file_atomically(place.run / "data.lock", "roformer process 1\n");
  write_file_atomically(place.home / "journal", "");
  place.link("data.partial", "../home");
  CHECK_THROWS_WITH(OutputFolder(options), Catch::Contains(kRefusal));
  fs::remove(place.run / "data.partial");
  fs::create_directories(place.run / "data.partial");
  write_file_atomically(place.run / "data.partial" / "journal", "");
  place.link("data.partial/shard", "../../home/thesis.txt");
  CHECK_THROWS_WITH(OutputFolder(options), Catch::Contains(kRefusal));
  fs::remove(place.home / "journal");
  place.require_untouched();
}

}  // namespace roformer
