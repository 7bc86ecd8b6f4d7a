// The inputs that fuzzing kept (tests/fuzz), each through its reader: read or refused, and nothing
// else. One input a line, in hexadecimal.
#include <fstream>
#include <string>

#include "catch.h"
#include "fuzz/readers.h"

using namespace roformer;

namespace {

std::string from_hexadecimal(const std::string& line) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

TEST_CASE("what fuzzing found is read or refused") {
  for (const fuzz::Reader& reader : fuzz::kReaders) {
    const std::string path = std::string(FIXTURES) + "/../fuzz/" + reader.name + ".txt";
    CAPTURE(path);
    std::ifstream file(path);
    std::string line;
    int read = 0, refused = 0;
    while (std::getline(file, line)) {
      ++(fuzz::accepts(reader, from_hexadecimal(line)) ? read : refused);
    }
    CHECK(read > 0);
    CHECK(refused > 0);
  }
}
