#include "tensor/safetensors.h"

#include <ATen/ATen.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

const fs::path kFixtures = FIXTURES;

std::string file_of(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}
// A file with this header and so many bytes of data.
std::string with_header(const std::string& header, std::size_t data) {
  return file_of(header.size(), header + std::string(data, '\0'));
}
std::string one_tensor(const std::string& dtype, const std::string& shape,
                       const std::string& offsets, std::size_t data) {
  return with_header("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
                         ",\"data_offsets\":" + offsets + "}}",
                     data);
}
SafetensorsHeader parse(const std::string& bytes) {
  return parse_safetensors_header(std::as_bytes(std::span(bytes)), "x.safetensors");
}

}  // namespace

TEST_CASE("files of the Python package are read, every type") {
  const Safetensors file(kFixtures / "types.safetensors");
  CHECK(file.metadata().at("note") == "from Python");
  CHECK(file.names().size() == 12);
  const at::Tensor expected = at::arange(6).remainder(5).view({2, 3});
  for (const auto& [name, type] : {std::pair{"float64", at::kDouble},
                                   {"float32", at::kFloat},
                                   {"float16", at::kHalf},
                                   {"bfloat16", at::kBFloat16},
                                   {"int64", at::kLong},
                                   {"int32", at::kInt},
                                   {"int16", at::kShort},
                                   {"int8", at::kChar},
                                   {"uint8", at::kByte},
                                   {"bool", at::kBool}}) {
    INFO(name);
    CHECK(at::equal(file.tensor(name), expected.to(type)));
  }
  CHECK(file.tensor("scalar").item<float>() == 3.5f);
  CHECK(file.tensor("empty").sizes() == at::IntArrayRef({0, 4}));
  CHECK_THROWS_WITH(file.tensor("other"), Catch::Contains("has no tensor \"other\""));
}

TEST_CASE("several files are read by their index") {
  const Safetensors file(kFixtures / "shards");
  CHECK(file.names() == std::vector<std::string>{"first.weight", "second.weight"});
  CHECK(at::equal(file.tensor("second.weight"), at::full({2, 2}, 2.0f)));
}

TEST_CASE("an index that leaves its folder or lacks a tensor is refused") {
  const TemporaryFolder folder;
  const fs::path index = folder.path / "model.safetensors.index.json";
  write_file_atomically(index, R"({"weight_map": {"a": "../a.safetensors"}})");
  CHECK_THROWS_WITH(Safetensors(index), Catch::Contains("not a file name"));
  write_safetensors(folder.path / "a.safetensors", std::vector<NamedTensor>{{"b", at::ones({2})}});
  write_file_atomically(index, R"({"weight_map": {"a": "a.safetensors"}})");
  CHECK_THROWS_WITH(Safetensors(index), Catch::Contains("lacks \"a\""));
  write_file_atomically(index, "[]");
  CHECK_THROWS_WITH(Safetensors(index), Catch::Contains("no weight_map"));
}

TEST_CASE("what is written is read back, views and all types") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "x.safetensors";
  const std::vector<NamedTensor> tensors = {
      {"bytes", at::arange(3, at::kByte)},
      {"transposed", at::arange(6, at::kFloat).view({2, 3}).t()},
      {"doubles", at::full({2}, 0.1, at::kDouble)},
      {"none", at::zeros({0}, at::kLong)},
      {"name \"with\" \xc3\xa9", at::scalar_tensor(1.5)}};
  write_safetensors(path, tensors, {{"version", "1"}});
  const Safetensors file(path);
  for (const NamedTensor& tensor : tensors) {
    INFO(tensor.name);
    CHECK(at::equal(file.tensor(tensor.name), tensor.value));
    CHECK(file.tensor(tensor.name).scalar_type() == tensor.value.scalar_type());
  }
  CHECK(file.metadata().at("version") == "1");
  // A view of the map: the same address twice, and it outlives the object.
  at::Tensor kept;
  {
    const Safetensors again(path);
    kept = again.tensor("doubles");
    CHECK(kept.const_data_ptr() == again.tensor("doubles").const_data_ptr());
  }
  CHECK(kept[1].item<double>() == 0.1);
}

TEST_CASE("an unaligned file is read all the same") {
  const std::string bytes = one_tensor("F32", "[2]", "[0,8]", 8);
  const TemporaryFolder folder;
  for (std::size_t pad = 0; pad < 4; ++pad) {
    std::string header = bytes.substr(8, bytes.size() - 16) + std::string(pad, ' ');
    std::string data(8, '\0');
    const float values[] = {1.5f, -2.0f};
    std::memcpy(data.data(), values, 8);
    write_file_atomically(folder.path / "x.safetensors", file_of(header.size(), header + data));
    const at::Tensor value = Safetensors(folder.path / "x.safetensors").tensor("a");
    CHECK(value[0].item<float>() == 1.5f);
    CHECK(value[1].item<float>() == -2.0f);
  }
}

TEST_CASE("every damage is one clear line") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    INFO(message);
    CHECK_THROWS_WITH(parse(bytes), Catch::Contains("x.safetensors: is not a whole safetensors") &&
                                        Catch::Contains(message));
  };
  refused("", "it has 0 bytes");
  refused("1234567", "it has 7 bytes");
  refused(file_of(std::uint64_t{1} << 60, "{}"), "at most 100000000 are allowed");
  refused(file_of(~std::uint64_t{0}, "{}"), "at most 100000000 are allowed");
  refused(file_of(3, "{}"), "claims 3 bytes, 2 are there");
  refused(file_of(0, ""), "not JSON");
  refused(with_header("{", 0), "not JSON");
  refused(with_header("[]", 0), "not a JSON object");
  refused(with_header("{\"\xff\":1}", 0), "not JSON from column 3 on");
  refused(with_header("{\"a\":1}", 0), "\"a\" is not described");
  refused(with_header(R"({"a":{"dtype":"F32","shape":[]}})", 0), "has no data_offsets");
  refused(with_header(R"({"a":{"b":{"c":{}}}})", 0), "has an unknown field \"b\"");
  refused(with_header(std::string(200'000, '['), 0), "nests lists and objects deeper than 100");
  refused(with_header(R"({"__metadata__":{"a":1}})", 0), "metadata \"a\" is not a text");
  refused(with_header("{}", 4), "take 0 bytes, 4 are there");
  refused(one_tensor("F33", "[1]", "[0,4]", 4), "dtype \"F33\"");
  refused(one_tensor("F32", "[-1]", "[0,4]", 4), "not a non-negative integer");
  refused(one_tensor("F32", "[1.0]", "[0,4]", 4), "not a non-negative integer");
  refused(one_tensor("F32", "1", "[0,4]", 4), "not a list");
  refused(one_tensor("F32", "[1]", "[0]", 4), "data_offsets");
  refused(one_tensor("F32", "[1]", "[4,0]", 4), "outside the file");
  refused(one_tensor("F32", "[1]", "[0,400]", 4), "outside the file");
  refused(one_tensor("F32", "[2]", "[0,4]", 4), "has 4 bytes, its shape and type take 8");
  refused(one_tensor("F32", "[1]", "[0,4]", 3), "take 4 bytes, 3 are there");
  refused(one_tensor("F32", "[1]", "[0,4]", 5), "take 4 bytes, 5 are there");
  refused(one_tensor("F32", "[1]", "[1,5]", 5), "an overlap or a gap");
  refused(one_tensor("F32", "[4294967296,4294967296]", "[0,0]", 0), "overflows");
  refused(one_tensor("F32", "[0,4611686018427387904,4]", "[0,0]", 0), "overflows");
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  refused(with_header("{" + a + "," + a + "}", 2), "names \"a\" twice");
  refused(with_header("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
          "an overlap or a gap");
}

TEST_CASE("a whole file that is cut anywhere is refused") {
  const std::string whole = read_file(kFixtures / "types.safetensors");
  CHECK(parse(whole).entries.size() == 12);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_AS(parse(whole.substr(0, size)), Error);
  }
}

}  // namespace roformer
