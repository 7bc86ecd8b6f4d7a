// The inputs that fuzzing kept (tests/fuzz), each through its reader: read or refused, and nothing
// else.
#include "catch.h"
#include "fuzz/data_readers.h"

using namespace roformer;

TEST_CASE("what fuzzing found in data files is read or refused") {
  for (const fuzz::Reader& reader : fuzz::kReaders) {
    CAPTURE(reader.name);
    const fuzz::Replay result = fuzz::replay(reader, std::string(FIXTURES) + "/../fuzz");
    CHECK(result.read > 0);
    const bool takes_any_bytes = std::string_view(reader.name) == "help";
    CHECK((result.refused > 0) != takes_any_bytes);
  }
}
