#include "tensor/parameters.h"

#include <ATen/ops/isnan.h>

#include <numeric>
#include <vector>

#include "catch.h"
#include "temporary_folder.h"
#include "tensor/aten.h"
#include "tensor/safetensors.h"

using namespace roformer;

TEST_CASE("initial values drawn by all threads are those of the stream in its order") {
  for (const std::size_t size : {1, 17, 4096, 5000, 100'003}) {
    CAPTURE(size);
    Random one(7), other(7);
    std::vector<float> plain(size), drawn(size);
    for (float& value : plain) value = static_cast<float>(0.02 * one.truncated_normal());
    truncated_normal(0.02)(drawn, other);
    CHECK(drawn == plain);
  }
}

TEST_CASE("initial values of a parameter depend on seed and name alone") {
  const auto values = [](std::uint64_t seed, std::vector<std::string> names) {
    ParameterStore store(seed);
    at::Tensor last;
    for (const std::string& name : names) {
      last = store.add({.name = name, .shape = {3, 5000}, .initial = truncated_normal(0.02)});
    }
    return last.detach().clone();
  };
  CHECK(values(1, {"b"}).equal(values(1, {"a", "b"})));
  CHECK(!values(1, {"a"}).equal(values(1, {"b"})));
  CHECK(!values(1, {"a"}).equal(values(2, {"a"})));
}

TEST_CASE("parameters that are going to be read are NaN until then") {
  const auto first = [](ParameterStore& store, const char* name) {
    return store.add({.name = name, .shape = {4}, .initial = ones()});
  };
  ParameterStore store(1);
  {
    const WithoutInitialValues loaded;
    CHECK(at::isnan(first(store, "read")).all().item<bool>());
  }
  CHECK(first(store, "made").sum().item<double>() == 4);
}

TEST_CASE("values that stay in their file are read from it, and again after a release") {
  const TemporaryFolder folder;
  const InnerPath path = InnerPath::named(folder.path / "model.safetensors");
  const at::Tensor large = at::arange(5000, at::kFloat).view({50, 100});
  write_safetensors(path, std::vector<NamedTensor>{{"large", large}, {"kept", at::ones({3})}});
  ParameterStore store(1);
  const WithoutInitialValues loaded(ValueMemory::of_file);
  const at::Tensor value = store.add({.name = "large", .shape = {50, 100}, .initial = zeros()});
  const at::Tensor kept = store.add(
      {.name = "kept", .shape = {3}, .initial = zeros(), .constraint = [](at::Tensor& values) {
         values.mul_(2);
       }});
  store.flatten();
  store.take(Safetensors(path.path()));
  CHECK(value.equal(large));
  store.release(value);
  CHECK(value.equal(large));
  store.apply_constraints();
  CHECK(kept.equal(at::full({3}, 2)));
  CHECK(!value.requires_grad());
  CHECK(!store.flat_values().defined());
}
