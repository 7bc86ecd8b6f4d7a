// The inputs that fuzzing kept (tests/fuzz), each through its reader: read or refused, and nothing
// else.
#include "catch.h"
#include "fuzz/record_readers.h"

using namespace roformer;

TEST_CASE("what fuzzing found in records is read or refused") {
  for (const fuzz::Reader& reader : fuzz::kReaders) {
    CAPTURE(reader.name);
    const fuzz::Replay result = fuzz::replay(reader, std::string(FIXTURES) + "/../fuzz");
    CHECK(result.read > 0);
    CHECK(result.refused > 0);
  }
}
