#include "analysis/golden_file.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace roformer {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostNumbers = 1 << 24;  // of an array

json parse(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes();
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

at::Tensor read_array(const json& array) {
  std::vector<std::int64_t> shape;
  for (const json& size : array.at("shape")) shape.push_back(json_integer(size));
  const json& data = array.at("data");
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > kMostNumbers || count > kMostNumbers) {
      throw std::runtime_error("a size out of range");
    }
    count *= size;
  }
  if (count != static_cast<std::int64_t>(data.size())) {
    throw std::runtime_error(fmt::format("{} numbers, its shape wants {}", data.size(), count));
  }
  at::Tensor tensor = at::empty(shape, at::kDouble);
  double* values = tensor.mutable_data_ptr<double>();
  for (const json& number : data) *values++ = number.get<double>();
  return tensor;
}

GoldenArrays read_arrays(const json& all, const char* member) {
  GoldenArrays arrays;
  const auto found = all.find(member);
  if (found == all.end() || found->is_null()) return arrays;
  for (const auto& [name, array] : found->items()) {
    try {
      arrays[name] = read_array(array);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}.{}: {}", member, name, error.what()));
    }
  }
  return arrays;
}

GoldenTolerance read_tolerance(const json& rules, const char* name) {
  const json& entry = rules.at("tolerance").at(name);
  return {.relative = entry.at("rtol").get<double>(), .absolute = entry.at("atol").get<double>()};
}

}  // namespace

GoldenIndex read_golden_index(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "index.json";
  const json index = parse(file);
  try {
    if (index.at("format") != "positions-golden-1") throw std::runtime_error("unknown format");
    const json& rules = index.at("rules");
    GoldenIndex result{.float64 = read_tolerance(rules, "float64"),
                       .float32 = read_tolerance(rules, "float32"),
                       .gradient_float64 = read_tolerance(rules, "grad_float64"),
                       .gradient_float32 = read_tolerance(rules, "grad_float32")};
    for (const json& entry : index.at("cases")) {
      result.files.push_back(folder / entry.at("file").get<std::string>());
    }
    return result;
  } catch (const std::exception& error) {
    throw_failure(file.string(), std::string("no list of golden cases: ") + error.what());
  }
}

GoldenCase read_golden_case(const std::filesystem::path& file) {
  const json all = parse(file);
  try {
    GoldenCase result{.name = all.at("name").get<std::string>(),
                      .scheme = all.at("scheme").get<std::string>(),
                      .config = all.value("config", json::object()),
                      .inputs = read_arrays(all, "inputs"),
                      .parameters = read_arrays(all, "params"),
                      .expected = read_arrays(all, "expected"),
                      .gradients = read_arrays(all, "grad")};
    if (const auto mask = all.find("mask"); mask != all.end() && !mask->is_null()) {
      result.mask = read_array(*mask).to(at::kBool);
    }
    return result;
  } catch (const std::exception& error) {
    throw_failure(file.string(), std::string("no golden case: ") + error.what());
  }
}

}  // namespace roformer
