#include "base/shipped.h"

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

TEST_CASE("a file that the user has comes before the shipped one, and nothing outside is shipped") {
  const TemporaryFolder folder;
  const fs::path shipped = folder.path / "share", own = folder.path / "own.yaml";
  fs::create_directories(shipped / "shipped-configs");
  std::ofstream(shipped / "shipped-configs" / "a.yaml") << "threads: 1\n";
  std::ofstream(shipped / "own.yaml") << "threads: 1\n";
  std::ofstream(own) << "threads: 2\n";
  std::ofstream(folder.path / "secret.yaml") << "threads: 3\n";

  CHECK(located_in(shipped, "shipped-configs/a.yaml") == shipped / "shipped-configs" / "a.yaml");
  CHECK(located_in(shipped, "./shipped-configs/../shipped-configs/a.yaml") ==
        shipped / "shipped-configs" / "a.yaml");
  CHECK(located_in(shipped, "shipped-configs") == shipped / "shipped-configs");
  CHECK(located_in(shipped, own) == own);
  CHECK(located_in(shipped, "shipped-configs/b.yaml") == "shipped-configs/b.yaml");
  CHECK(located_in(shipped, "../secret.yaml") == "../secret.yaml");
  CHECK(located_in(shipped, "shipped-configs/../../secret.yaml") ==
        "shipped-configs/../../secret.yaml");
  CHECK(located_in("", "shipped-configs/a.yaml") == "shipped-configs/a.yaml");
  CHECK(located_in(shipped, "") == "");
}
