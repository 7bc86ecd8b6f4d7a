// Archives of torch.save give their tensors, whatever strides these have; every other pickle is
// refused at the opcode that does more, and tensors outside their storages are too.
#include "tensor/pickled_tensors.h"

#include <ATen/ATen.h>

#include <limits>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "fuzz/torch_archive.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace {

using Catch::Contains;
using fuzz::torch_archive;
using fuzz::zip_of;

std::vector<SafetensorsEntry> parse_archive(const std::string& archive) {
  return parse_pickled_tensors(std::as_bytes(std::span(archive)), "x.bin");
}
std::string number(std::int64_t value) {
  return "\x8a\x08" + fuzz::little_endian(static_cast<std::uint64_t>(value), 8);
}
std::string text(const std::string& value) {
  return "X" + fuzz::little_endian(value.size(), 4) + value;
}
std::string tuple_of(const std::vector<std::int64_t>& values) {
  std::string result = "(";
  for (const std::int64_t value : values) result += number(value);
  return result + "t";
}

struct Described {
  std::string type = "FloatStorage", key = "0";
  std::int64_t elements = 6, offset = 0;
  std::vector<std::int64_t> sizes = {2, 3}, strides = {3, 1};
};
std::string tensor(const Described& in) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + in.type + "\n" +
         text(in.key) + text("cpu") + number(in.elements) + "tQ" + number(in.offset) +
         tuple_of(in.sizes) + tuple_of(in.strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}
std::string dictionary(const std::string& items) {
  return "\x80\x02}(" + items + "u.";
}
std::vector<SafetensorsEntry> parse_one(const Described& in) {
  return parse_archive(torch_archive(dictionary(text("a") + tensor(in))));
}

}  // namespace

TEST_CASE("a file of torch.save is read, every type, views and parameters") {
  const Safetensors file(std::filesystem::path(FIXTURES) / "types.bin");
  CHECK(file.names().size() == 15);
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
                                   {"bool", at::kBool},
                                   {"parameter", at::kDouble}}) {
    INFO(name);
    CHECK(at::equal(file.tensor(name), expected.to(type)));
  }
  CHECK(file.tensor("scalar").item<float>() == 3.5f);
  CHECK(file.tensor("empty").sizes() == at::IntArrayRef({0, 4}));
  CHECK(at::equal(file.tensor("columns"), expected.t().to(at::kFloat)));
  CHECK(at::equal(file.tensor("second_row"), expected[1].to(at::kFloat)));
}

TEST_CASE("a tensor lies where its storage, offset, sizes and strides say") {
  const std::vector<SafetensorsEntry> whole = parse_one({});
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].name == "a");
  CHECK(whole[0].end - whole[0].begin == 24);
  const SafetensorsEntry part = parse_one({.offset = 1, .sizes = {2, 1}, .strides = {4, 9}}).at(0);
  CHECK(part.begin == whole[0].begin + 4);
  CHECK(part.end - part.begin == 5 * 4);
  const SafetensorsEntry other =
      parse_one({.type = "HalfStorage", .key = "1", .elements = 4, .sizes = {4}, .strides = {1}})
          .at(0);
  CHECK(other.type == SafetensorsType::f16);
  CHECK(other.end - other.begin == 8);
  // An archive without alignment: a copy is made.
  const TemporaryFolder folder;
  for (const char* const begin : {"", "x", "xy", "xyz"}) {
    const std::string archive = zip_of(
        {{std::string("a/") + begin, ""},
         {"a/data.pkl", dictionary(text("a") + tensor({.sizes = {3, 2}, .strides = {1, 3}}))},
         {"a/data/0", fuzz::little_endian(0x3f80000040000000, 8) + std::string(16, '\0')}});
    write_file_atomically(folder.path / "a.bin", archive);
    const at::Tensor read = Safetensors(folder.path / "a.bin").tensor("a");
    CHECK(at::equal(read, at::tensor({2.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f}).view({3, 2})));
  }
}

TEST_CASE("a tensor outside its storage is refused") {
  const auto refused = [](const Described& in, const char* words) {
    CHECK_THROWS_WITH(parse_one(in), Contains(words));
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const char* const outside = "a tensor outside its storage";
  refused({.offset = 1}, outside);
  refused({.offset = -1}, outside);
  refused({.offset = kMost}, outside);
  refused({.sizes = {3, 3}}, outside);
  refused({.strides = {4, 1}}, outside);
  refused({.sizes = {kMost, kMost}, .strides = {kMost, kMost}}, outside);
  refused({.sizes = {1 << 30}, .strides = {0}}, outside);  // repeats an element
  refused({.sizes = {2}}, "other strides than sizes");
  refused({.sizes = {-1, 3}}, "a size that is no number");
  refused({.sizes = std::vector<std::int64_t>(65, 1), .strides = std::vector<std::int64_t>(65, 1)},
          "more than 64 dimensions");
  refused({.elements = 7}, "a storage of 7 elements in 24 bytes");
  refused({.elements = -1}, "a storage of -1 elements");
  refused({.type = "DoubleStorage"}, "a storage of 6 elements in 24 bytes");
  refused({.key = "2"}, "the storage \"2\" without data");
  refused({.type = "Tensor"}, "the name \"torch Tensor\"");
  const std::string twice = text("a") + tensor({}) + text("b") + tensor({.type = "IntStorage"});
  CHECK_THROWS_WITH(parse_archive(torch_archive(dictionary(twice))), Contains("a storage of two kinds"));
  std::string many;
  for (int i = 0; i < 12; ++i) many += text(std::to_string(i)) + tensor({});
  CHECK_THROWS_WITH(parse_archive(torch_archive(dictionary(many))),
                    Contains("describes tensors of 288 bytes in storages of 24"));
}

TEST_CASE("a pickle that does anything else is refused at its opcode") {
  const auto refused = [](const std::string& pickle, const std::string& words) {
    CAPTURE(words);
    CHECK_THROWS_WITH(parse_archive(torch_archive(pickle)), Contains(words));
  };
  const std::string begin = "\x80\x02";
  refused(begin + "cos\nsystem\n",
          "archive/data.pkl: opcode 0x63 at byte 2: the name \"os system\"");
  refused(begin + "c__builtin__\neval\n" + text("1") + "\x85R.", "the name \"__builtin__ eval\"");
  refused(begin + "]q", "opcode 0x5d at byte 2: an operation");
  refused(begin + "(ios\nsystem\n.", "opcode 0x69 at byte 3: an operation");
  refused(begin + "}" + text("a") + text("b") + "s.", "\"a\" is a text, not a tensor");
  refused(begin + "}" + text("model") + "}s.", "not a training's state");
  refused("\x80\x04}.", "another protocol than 2");
  refused(begin + "}", "an end in the middle");
  refused(begin + "}.x", "more bytes after its end");
  refused(begin + "K\1.", "a number as the whole, wanted a dictionary");
  refused(begin + "}}.", "not one value");
  refused(begin + "R", "a value that is not there");
  refused(begin + "t", "a mark that is not there");
  refused(begin + "}K\1K\2s.", "a key that is no text");
  refused(begin + std::string("h\0", 2), "a value that was not remembered");
  refused(begin + "}q\5", "a place of memory after a gap");
  refused(begin + "(q\5", "a place of memory after a gap");
  refused(begin + "ctorch\nFloatStorage\n)R", "a call of a type");
  refused(begin + "ccollections\nOrderedDict\n}\x85R", "a dictionary with arguments");
  refused(begin + "\x8a\x09" + "123456789", "a number of more than 8 bytes");
  refused(begin + text("a").substr(0, 5), "an end in the middle");
  refused(begin + "X\xff\xff\xff\xff", "an end in the middle");
  refused(begin + "N}b", "attributes of something else");
  refused(dictionary(text("a") + tensor({}) + text("a") + tensor({})), "names \"a\" twice");
  refused(begin + std::string((1 << 20) + 1, 'N'), "more than 1048576 objects");
  CHECK(parse_archive(torch_archive(begin + "}.")).empty());
}

TEST_CASE("a file that is no archive of torch.save is refused") {
  const auto refused = [](const std::string& bytes, const std::string& words) {
    CAPTURE(words);
    CHECK_THROWS_WITH(parse_archive(bytes), Contains(words));
  };
  const std::string good = torch_archive(dictionary(text("a") + tensor({})));
  CHECK(parse_archive(good).size() == 1);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(parse_archive(good.substr(0, size)), Error);
  }
  refused("\x80\x02\x8a\x0al\xfc\x9c" + std::string("F\xf9 j\xa8P\x19.more"),
          "format before PyTorch 1.6");
  refused("\x80\x02}.", "neither an archive of torch.save nor another pickle");
  refused(zip_of({{"a/other", ""}}), "without data.pkl");
  refused(zip_of({{"a/data.pkl", "\x80\x02}."}, {"a/byteorder", "big"}}), "another order of bytes");
  refused(zip_of({{"a/data.pkl", ""}, {"a/data.pkl", ""}}), "holds \"a/data.pkl\" twice");
  std::string changed = good;
  const auto set = [&](std::size_t at, char value) {
    changed = good;
    changed[at] = value;
  };
  const std::size_t directory = good.find("PK\1\2"), end = good.find("PK\5\6");
  set(directory + 10, 8);
  refused(changed, "is compressed or encrypted");
  set(directory + 8, 1);
  refused(changed, "is compressed or encrypted");
  set(directory + 24, 1);
  refused(changed, "bytes, stored in");
  set(directory + 42, 1);
  refused(changed, "is not at byte 1");
  set(directory, 0);
  refused(changed, "begins no member");
  set(end + 10, 100);
  refused(changed, "claims 100 members");
  set(end + 19, 127);
  refused(changed, "lie outside it");
}

}  // namespace roformer
