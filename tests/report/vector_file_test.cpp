// What a file of vectors holds: a NumPy array equal to numpy.save's, lines of JSON and of numbers.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "report/vector_file.h"
#include "temporary_folder.h"

using namespace roformer;
using Catch::Contains;

namespace {

// numpy.save("vectors.npy", numpy.array(..., dtype=numpy.float32)), NumPy 2.4.
const std::vector<std::vector<float>> kRows = {{0, 1.5F, -2}, {3, 4, 1e-3F}};

std::string written(VectorFormat format, const std::string& name) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / name).string();
  VectorFile output(file, format, 3);
  for (const std::vector<float>& row : kRows) output.write("a \"text\"\n", row);
  CHECK(!std::filesystem::exists(file));
  output.commit();
  CHECK(output.rows() == 2);
  return read_file(file);
}

}  // namespace

TEST_CASE("a NumPy array of vectors is the one that NumPy writes") {
  CHECK(written(VectorFormat::npy, "vectors.npy") ==
        read_file(std::filesystem::path(FIXTURES) / "vectors.npy"));
  CHECK(npy_header(123'456'789'012'345, 65'536).size() == 128);
}

TEST_CASE("vectors as lines keep every digit of their numbers") {
  CHECK(written(VectorFormat::tsv, "vectors.tsv") == "0\t1.5\t-2\n3\t4\t0.001\n");
  const std::string lines = written(VectorFormat::jsonl, "vectors.jsonl");
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  CHECK(first["text"] == "a \"text\"\n");
  CHECK(first["vector"].get<std::vector<float>>() == kRows[0]);
}

TEST_CASE("the format of a file of vectors is in its name") {
  CHECK(format_of_vector_file("a/b.npy") == VectorFormat::npy);
  CHECK(format_of_vector_file("-") == VectorFormat::jsonl);
  CHECK_THROWS_WITH(format_of_vector_file("b.txt"), Contains("--format npy"));
  CHECK_THROWS_WITH(VectorFile("-", VectorFormat::npy, 3), Contains("standard output"));
}
