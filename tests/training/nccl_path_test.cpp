// The calls that training makes of NCCL, with a stand-in for the plug-in (nccl_stub) and for the
// GPU (host_device.h).
#include <ATen/native/TensorShape.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <dlfcn.h>

#include "catch.h"
#include "has.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/plugin.h"
#include "training/host_device.h"
#include "training/nccl_stub/calls.h"
#include "training/on_ranks.h"
#include "training/optimizer.h"
#include "training/step_reduction.h"

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &roformer::host_device::empty);
  library.impl("empty_strided", &roformer::host_device::empty_strided);
  library.impl("_copy_from", &roformer::host_device::copy_from);
  library.impl("_copy_from_and_resize", &roformer::host_device::copy_from_and_resize);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&roformer::host_device::by_cpu>());
}

namespace roformer {
namespace {

using Calls = std::vector<std::string>;

// Opens the stand-in, under whose name the program then finds it. The device is made known only here:
// where LibTorch has one, a backward pass starts threads, and a process that has them cannot fork as
// other tests do.
NcclStubRank& stub_rank(std::int64_t rank) {
  static const c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> guard;
  static const c10::impl::DeviceGuardImplRegistrar known(c10::DeviceType::PrivateUse1, &guard);
  static void* const library = dlopen(ROFORMER_NCCL_STUB, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  if (gpu::open_plugin().library != library) throw std::runtime_error("another plug-in is open");
  return reinterpret_cast<NcclStubRankFunction>(dlsym(library, kNcclStubRankName))(
      static_cast<int>(rank));
}

// What a rank has called since it connected. All was waited for.
Calls calls_of(std::int64_t rank) {
  Calls calls;
  for (const NcclCall& call : stub_rank(rank).calls) {
    calls.push_back(call.what + (call.waited ? "" : ", not waited for"));
  }
  return calls;
}

std::string own_card(const Processes& processes) {
  return "card " + std::to_string(processes.rank());
}

constexpr std::int64_t kNumbers = 5 * FlatParts::kPiece / 2;  // the parts differ in size

struct Held {
  at::Tensor values, first, second;  // on the CPU; the moments of the first process
};

Held take_steps(Processes& processes, at::Device device, bool in_parts) {
  const ComposedForms composed;
  ParameterStore store(7, at::kFloat, device);
  store.add({.name = "weight", .shape = {kNumbers}, .initial = normal(1), .depth = 1});
  store.flatten();
  Optimizer optimizer(store, {}, in_parts ? &processes : nullptr);
  const auto reduction =
      make_step_reduction(processes, store, {.in_parts = in_parts, .bucket = 50'000});
  for (std::int64_t step = 0; step < 2; ++step) {
    const double own = static_cast<double>(processes.rank() + 2 * step) + 0.5;
    reduction->begin_last();
    store.flat_gradients().copy_(at::arange(kNumbers, at::kFloat) / kNumbers - own);
    const at::Tensor loss = at::full({}, own, at::TensorOptions(device).dtype(at::kDouble));
    reduction->add_micro_batch(loss, store);
    StepSums sums{.targets = 3, .tokens = 3};
    if (!reduction->finish(sums, store, 0)) throw std::runtime_error("no whole step");
    optimizer.step({.learning_rate = 0.01,
                    .targets = static_cast<double>(sums.targets),
                    .clip = 1,
                    .loss = sums.loss});
  }
  const Moments moments = optimizer.moments();
  optimizer.restore_moments(moments, processes);
  const auto on_cpu = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true)
                            : tensor;
  };
  return {on_cpu(store.flat_values()), on_cpu(moments.first), on_cpu(moments.second)};
}

std::vector<Held> by_two(at::Device device, bool in_parts) {
  std::vector<Held> held(2);
  const auto problems = on_ranks(2, std::chrono::milliseconds(20'000), [&](Processes& processes) {
    if (!device.is_cpu() && processes.use_gpu(own_card(processes)) != "through NCCL") {
      throw std::runtime_error("not through NCCL");
    }
    held[static_cast<std::size_t>(processes.rank())] = take_steps(processes, device, in_parts);
  });
  CHECK(problems == std::vector<std::string>(2));
  return held;
}

void check_as_through_gloo(bool in_parts, const Calls& wanted) {
  stub_rank(0);
  const std::vector<Held> nccl = by_two(host_device::kDevice, in_parts);
  const std::vector<Held> gloo = by_two(at::kCPU, in_parts);
  for (const std::int64_t rank : {0, 1}) {
    CHECK(calls_of(rank) == wanted);
    const Held& own = nccl[static_cast<std::size_t>(rank)];
    CHECK(at::equal(own.values, gloo[0].values));
    if (in_parts && rank > 0) continue;  // the first process alone gets the moments
    CHECK(at::equal(own.first, gloo[0].first));
    CHECK(at::equal(own.second, gloo[0].second));
  }
}

// Makes a call of the second rank fail; the problems of both.
std::vector<std::string> failing(NcclFailure failure) {
  stub_rank(1).fails_at = 1;
  stub_rank(1).failure = failure;
  const auto problems = on_ranks(2, std::chrono::milliseconds(3'000), [](Processes& processes) {
    processes.use_gpu(own_card(processes));
    for (int call = 0; call < 3; ++call) {
      processes.begin_sum(at::ones({4}, at::TensorOptions(host_device::kDevice)))->wait();
    }
  });
  stub_rank(1).failure = NcclFailure::none;
  return problems;
}

}  // namespace

TEST_CASE("gradients of GPUs are summed by NCCL in buckets, as through Gloo") {
  check_as_through_gloo(false, {"allreduce Float 50000", "allreduce Float 31920",
                                "allreduce Float 50000", "allreduce Float 31920",
                                // the moments of a checkpoint
                                "broadcast Float 81920", "broadcast Float 81920"});
}

TEST_CASE("an optimiser in parts exchanges the parts through NCCL") {
  // Gradients, the sum of squares, and the new values. Rows are as long as the larger part.
  Calls wanted;
  for (int step = 0; step < 2; ++step) {
    for (const char* call :
         {"alltoall Float 131072", "allreduce Double 1", "allgather Float 65536"}) {
      wanted.emplace_back(call);
    }
  }
  // Moments are gathered for a checkpoint and handed out again.
  for (const char* call : {"allgather Float 65536", "allgather Float 65536",
                           "broadcast Float 81920", "broadcast Float 81920"}) {
    wanted.emplace_back(call);
  }
  check_as_through_gloo(true, wanted);
}

TEST_CASE("a call of NCCL that fails ends the process with one line") {
  const std::string at_once = failing(NcclFailure::at_once)[1];
  CHECK_THAT(at_once, Catch::Contains("process 1 of 2: ") &&
                          Catch::Contains("NCCL error: no memory is left") &&
                          Catch::Contains("--resume"));
  CHECK_FALSE(has(at_once, "\n"));
  const std::string later = failing(NcclFailure::later)[1];
  CHECK_THAT(later, Catch::Contains("process 1 of 2: ") &&
                        Catch::Contains("NCCL error: a cable is loose"));
  CHECK_FALSE(has(later, "\n"));
}

TEST_CASE("NCCL connects a single process with itself") {
  stub_rank(0);
  const auto processes = connect(launch_of(0, 1, free_port()),
                                 {.timeout = std::chrono::milliseconds(20'000), .alone = true});
  REQUIRE(processes->use_gpu("card") == "through NCCL");
  const auto numbers = at::TensorOptions(host_device::kDevice);
  const at::Tensor values = at::full({1, 3}, 2.0, numbers), received = at::zeros({1, 3}, numbers);
  processes->begin_sum(values)->wait();
  processes->take_from_first(values);
  processes->begin_exchange(received, values)->wait();
  CHECK(at::equal(received.to(at::kCPU), at::full({1, 3}, 2.0)));
  processes->begin_gather(received, values[0])->wait();
  CHECK(at::equal(received.to(at::kCPU), at::full({1, 3}, 2.0)));
  CHECK(calls_of(0) ==
        Calls{"allreduce Float 3", "broadcast Float 3", "alltoall Float 3", "allgather Float 3"});
}

TEST_CASE("processes that share a card go through Gloo") {
  stub_rank(0);
  const auto problems = on_ranks(2, std::chrono::milliseconds(20'000), [](Processes& processes) {
    const std::string way = processes.use_gpu("one card");
    if (!has(way, "2 processes share a GPU")) throw std::runtime_error(way);
  });
  CHECK(problems == std::vector<std::string>(2));
}

}  // namespace roformer
