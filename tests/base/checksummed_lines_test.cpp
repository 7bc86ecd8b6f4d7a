#include "base/checksums.h"

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("a sealed text with any flipped bit is refused, or its lines are what they were") {
  const TemporaryFolder temporary;
  const auto file = temporary.path / "config.yaml";
  const std::string lines = "task: mlm\nsteps: 100\n";
  const std::string whole = checksummed_lines(lines);
  write_file_atomically(file, whole);
  CHECK_NOTHROW(check_checksummed_lines(file));
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
      write_file_atomically(file, changed);
      CAPTURE(changed);
      try {
        check_checksummed_lines(file);
        CHECK(changed.ends_with("\n" + lines));
      } catch (const Error&) {
      }
    }
  }
  write_file_atomically(file, whole.substr(0, whole.size() - 3));
  CHECK_THROWS_AS(check_checksummed_lines(file), Error);
  write_file_atomically(file, "# mine\n" + lines);
  CHECK_NOTHROW(check_checksummed_lines(file));
}
