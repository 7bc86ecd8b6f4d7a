// Where a run lies that was copied or moved, and its data.

#include "base/checksums.h"
#include "catch.h"
#include "config/dump.h"
#include "config/load.h"
#include "config_helpers.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// A project with two data sets and a run that stored where they were.
struct Project : ConfigFolder {
  fs::path make(const std::string& name, const std::string& run = "x") const {
    const fs::path project = path / name;
    for (const char* data : {"data", "more"}) fs::create_directories(project / data);
    const Settings settings = default_settings(
        {{"run", run},
         {"runs", (project / "runs").string()},
         {"data.directory", (project / "data").string()},
         {"data.sources", "[{directory: " + (project / "data").string() +
                              "}, {directory: " + (project / "more").string() + ", weight: 2}]"},
         {"stages", "[{steps: 5, directory: " + (project / "more").string() + "}]"},
         {"model.from", (path / "elsewhere").string()}});
    const std::string text = checksummed_lines(dump(settings, DumpStyle::compact));
    for (const fs::path& folder :
         {project / "runs" / run, project / "runs" / run / "checkpoints" / "step-00000005"}) {
      fs::create_directories(folder);
      write_file_atomically(folder / "config.yaml", text);
    }
    return project;
  }
};

}  // namespace

TEST_CASE("a run that lies where it was made is as it stored itself") {
  const Project project;
  const fs::path here = project.make("here");
  const Settings settings = load_settings(here / "runs" / "x" / "config.yaml");
  CHECK(settings.runs == here / "runs");
  CHECK(settings.run == "x");
  CHECK(settings.data.directory == here / "data");
}

TEST_CASE("a copied project is the place of its runs and their data, the original there or not") {
  const Project project;
  const fs::path old = project.make("old"), copy = project.path / "deep" / "copy";
  fs::create_directories(copy.parent_path());
  fs::copy(old, copy, fs::copy_options::recursive);
  const bool gone = GENERATE(false, true);
  if (gone) fs::remove_all(old);
  for (const char* file : {"config.yaml", "checkpoints/step-00000005/config.yaml"}) {
    CAPTURE(file, gone);
    const fs::path config = copy / "runs" / "x" / file;
    const Settings settings = load_settings(config);
    CHECK(settings.runs == copy / "runs");
    CHECK(settings.run == "x");
    CHECK(settings.data.directory == copy / "data");
    REQUIRE(settings.data.sources.size() == 2);
    CHECK(settings.data.sources[1] == DataSource{copy / "more", 2});
    CHECK(settings.stages.at(0).directory == copy / "more");
    CHECK(settings.model.from == project.path / "elsewhere");  // nothing beside the copy
    CHECK(load_values(config).settings.runs == copy / "runs");
    // Flags say more than the file, wherever it lies.
    const Settings other = load_settings(config, {{"runs", "/r"}, {"data.directory", "/d"}});
    CHECK(other.runs == "/r");
    CHECK(other.data.directory == "/d");
  }
  // From inside the copy, by a relative path.
  const fs::path before = fs::current_path();
  fs::current_path(copy);
  CHECK(load_settings("runs/x/config.yaml").data.directory == copy / "data");
  fs::current_path(before);
}

TEST_CASE("a run that was copied or renamed alone keeps its data where they were") {
  const Project project;
  const fs::path old = project.make("old");
  fs::copy(old / "runs" / "x", project.path / "y", fs::copy_options::recursive);
  fs::rename(old / "runs" / "x", old / "runs" / "z");
  for (const fs::path& run : {project.path / "y", old / "runs" / "z"}) {
    const Settings settings = load_settings(run / "config.yaml");
    CHECK(settings.runs / settings.run == run);
    CHECK(settings.data.directory == old / "data");
    CHECK(settings.data.sources.at(1).directory == old / "more");
  }
}

TEST_CASE("a run that was renamed in a copied project has the copy's data") {
  const Project project;
  const fs::path old = project.make("old"), copy = project.path / "copy";
  fs::copy(old, copy, fs::copy_options::recursive);
  fs::rename(copy / "runs" / "x", copy / "runs" / "z");
  if (GENERATE(false, true)) fs::remove_all(old);
  const Settings settings = load_settings(copy / "runs" / "z" / "config.yaml");
  CHECK(settings.runs / settings.run == copy / "runs" / "z");
  CHECK(settings.data.directory == copy / "data");
  CHECK(settings.data.sources.at(1).directory == copy / "more");
}

TEST_CASE("a configuration that no run stored says where its run is to be") {
  const Project project;
  const auto file = project.write("config.yaml", "run: x\nruns: /elsewhere\n");
  CHECK(load_settings(file).runs == "/elsewhere");
  const auto study = project.write("configs/config.yaml", "run: x\nruns: /elsewhere\n");
  CHECK(load_settings(study).runs == "/elsewhere");
}
