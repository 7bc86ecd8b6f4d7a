#include "training/muon.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "config/words.h"
#include "distance.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"
#include "training/forms.h"
#include "training/optimizer.h"
#include "training/toy_training.h"

namespace roformer {
namespace {

nlohmann::json golden_cases() {
  return nlohmann::json::parse(read_file(FIXTURES "/muon_cases.json"))["cases"];
}

// The matrices of make_muon_cases.py. Two of them are packed in one parameter.
const std::vector<std::pair<std::string, std::vector<std::int64_t>>> kMatrices = {
    {"tall", {12, 5}},
    {"wide", {5, 12}},
    {"square", {8, 8}},
    {"first", {4, 8}},
    {"second", {8, 8}}};

at::Tensor filled(const std::vector<std::int64_t>& shape, const std::function<double(double)>& of) {
  const at::Tensor values = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.data_ptr<double>()[i] = of(std::pow(static_cast<double>(i) + 1, 2));
  }
  return values;
}

void add_matrices(ParameterStore& store) {
  store.add({.name = "embedding", .shape = {50, 8}, .initial = normal(1), .depth = 0});
  store.add({.name = "tall", .shape = {12, 5}, .initial = zeros(), .depth = 1, .matrices = {12}});
  store.add({.name = "norm", .shape = {8}, .initial = ones(), .decay = false, .depth = 1});
  store.add({.name = "position", .shape = {8, 8}, .initial = normal(1), .depth = 1});
  store.add({.name = "wide", .shape = {5, 12}, .initial = zeros(), .depth = 1, .matrices = {5}});
  store.add({.name = "square", .shape = {8, 8}, .initial = zeros(), .depth = 2, .matrices = {8}});
  store.add(
      {.name = "packed", .shape = {12, 8}, .initial = zeros(), .depth = 2, .matrices = {4, 8}});
  store.flatten();
}

// The matrix of a golden case in the store, or in the gradients of the store.
at::Tensor matrix_of(const ParameterStore& store, const std::string& name, bool gradient) {
  const bool packed = name == "first" || name == "second";
  const Parameter& parameter = *store.find(packed ? "packed" : name);
  at::Tensor values = gradient ? parameter.value.grad() : parameter.value.detach();
  if (packed) values = name == "first" ? values.narrow(0, 0, 4) : values.narrow(0, 4, 8);
  return values;
}

at::Tensor golden(const nlohmann::json& values, at::IntArrayRef shape) {
  return at::tensor(values.get<std::vector<double>>()).view(shape);
}

}  // namespace

TEST_CASE("Muon is torch.optim.Muon, for each matrix of a packed tensor") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const Form form = GENERATE(Form::loops, Form::composed, Form::gpu_kernels);
  const FormTaken taken(form);
  for (const nlohmann::json& golden_case : golden_cases()) {
    ParameterStore store(5, type);
    add_matrices(store);
    OptimizerOptions options{.weight_decay = golden_case["weight_decay"]};
    const bool original = golden_case["scale"] == to_word(MuonScale::original);
    options.muon = {.momentum = golden_case["momentum"],
                    .nesterov = golden_case["nesterov"],
                    .iterations = golden_case["iterations"],
                    .scale = original ? MuonScale::original : MuonScale::match_rms_adamw};
    Optimizer optimizer(store, options);
    for (std::size_t place = 0; place < kMatrices.size(); ++place) {
      const auto& [name, shape] = kMatrices[place];
      matrix_of(store, name, false).copy_(filled(shape, [&](double square) {
        return std::sin(0.61 * square + static_cast<double>(place));
      }));
    }
    for (int step = 0; step < 5; ++step) {
      for (std::size_t place = 0; place < kMatrices.size(); ++place) {
        const auto& [name, shape] = kMatrices[place];
        matrix_of(store, name, true).copy_(filled(shape, [&](double square) {
          return 7 * std::sin(0.37 * square + 2 * static_cast<double>(place) + 3 * step);
        }));
      }
      optimizer.step({.learning_rate = golden_case["learning_rate"],
                      .targets = 7,
                      .loss = at::scalar_tensor(1.0)});
      CHECK(store.flat_gradients().count_nonzero().item<std::int64_t>() == 0);
    }
    // Products in batches round to bfloat16, single ones do not. The golden case shows how far that
    // moves a matrix.
    const bool rounds = type == at::kFloat && form != Form::loops;
    for (const auto& [name, shape] : kMatrices) {
      const at::Tensor exact = golden(golden_case["exact"][name], shape),
                       rounded = golden(golden_case["bfloat16"][name], shape),
                       mine = matrix_of(store, name, false);
      CAPTURE(name, golden_case["scale"], distance(mine, exact), distance(mine, rounded));
      const double tolerance = type == at::kDouble && form != Form::composed ? 1e-9 : 3e-5;
      CHECK(distance(mine, rounds ? rounded : exact) <
            (rounds ? distance(rounded, exact) : tolerance));
    }
  }
}

TEST_CASE("Muon keeps one moment of its matrices and AdamW two of the rest") {
  ParameterStore store(5);
  add_matrices(store);
  const Optimizer optimizer(store, {.muon = MuonOptions()});
  const Moments moments = optimizer.moments();
  CHECK(moments.first.numel() == store.flat_values().numel());
  CHECK(moments.second.numel() == 50 * 8 + 8 * 8 + 16);  // a norm of 8 takes up 16
  std::vector<std::string> names;
  for (const NamedTensor& tensor : moments.named) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"first_moment.embedding", "second_moment.embedding",
                                          "momentum.tall", "first_moment.norm",
                                          "second_moment.norm", "first_moment.position",
                                          "second_moment.position", "momentum.wide",
                                          "momentum.square", "momentum.packed"});
}

TEST_CASE("parameters outside the layers' matrices take the steps of AdamW") {
  const Form form = GENERATE(Form::loops, Form::composed, Form::gpu_kernels);
  const FormTaken taken(form);
  ParameterStore with_muon(5), without(5);
  add_matrices(with_muon);
  add_matrices(without);
  Optimizer muon(with_muon, {.layer_decay = 0.8, .muon = MuonOptions{.rate = 3}});
  Optimizer adamw(without, {.layer_decay = 0.8});
  for (int step = 0; step < 3; ++step) {
    for (ParameterStore* const store : {&with_muon, &without}) {
      at::Tensor gradients = store->flat_gradients();
      gradients.copy_(at::sin(at::arange(gradients.numel(), at::kFloat) * (step + 1)));
    }
    const OptimizerStep of_step{
        .learning_rate = 0.01, .targets = 2, .clip = 1, .loss = at::scalar_tensor(1.0)};
    muon.step(of_step);
    adamw.step(of_step);
  }
  for (const char* name : {"embedding", "norm", "position"}) {
    CHECK(at::equal(with_muon.find(name)->value, without.find(name)->value));
  }
  CHECK_FALSE(at::equal(with_muon.find("square")->value, without.find("square")->value));
}

TEST_CASE("an update is orthogonal up to the spread of the quintic") {
  const at::Tensor x = filled({40, 24}, [](double square) { return std::sin(0.37 * square); });
  const at::Tensor result = newton_schulz(x / x.norm(), 5);
  const at::Tensor sizes = std::get<1>(at::linalg_svd(result));
  CHECK(sizes.max().item<double>() < 1.25);
  CHECK(sizes.min().item<double>() > 0.5);
}

// The library of the products rounds by the number of threads.
TEST_CASE("Muon's steps are nearly the same for any number of threads") {
  const auto after = [](int threads) {
    at::set_num_threads(threads);
    ParameterStore store(5);
    for (const char* name : {"a", "b", "c"}) {
      store.add({.name = name,
                 .shape = {300, 200},
                 .initial = normal(0.1),
                 .depth = 1,
                 .matrices = {100, 200}});
    }
    store.flatten();
    Optimizer optimizer(store, {.muon = MuonOptions()});
    for (int step = 0; step < 2; ++step) {
      at::Tensor gradients = store.flat_gradients();
      gradients.copy_(at::sin(at::arange(gradients.numel(), at::kFloat).square() * (0.37 + step)));
      optimizer.step({.learning_rate = 0.01, .loss = at::scalar_tensor(1.0)});
    }
    return store.flat_values().clone();
  };
  const int threads = at::get_num_threads();
  const at::Tensor one = after(1), two = after(2), five = after(5);
  at::set_num_threads(threads);
  CHECK((one - two).abs().max().item<double>() < 1e-6);
  CHECK((one - five).abs().max().item<double>() < 1e-6);
}

TEST_CASE("a run goes on with the optimiser that it was begun with") {
  const TemporaryFolder folder;
  const ToyOptions options{.hidden = 24};
  const bool muon_first = GENERATE(false, true);
  TrainingSettings settings = toy_settings();
  settings.optimizer = muon_first ? OptimizerKind::muon : OptimizerKind::adamw;
  {
    ToyTask task(options);
    train_toy(folder.path / "run", task, settings);
  }
  settings.optimizer = muon_first ? OptimizerKind::adamw : OptimizerKind::muon;
  settings.steps.amount = 70;
  ToyTask task(options);
  const std::string message =
      message_of([&] { train_toy(folder.path / "run", task, settings, ExistingRun::resume); });
  CHECK(has(message, muon_first ? "holds the moments of training.optimizer muon, but this training "
                                  "has adamw"
                                : "holds the moments of training.optimizer adamw, but this "
                                  "training has muon"));
}

}  // namespace roformer
