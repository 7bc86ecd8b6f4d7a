// The model of bench/scaling_model.h against cases computed by hand.
#include "bench/scaling_model.h"

#include "catch.h"

using namespace roformer;

namespace {

// 100 MB in buckets of 10 MB; 10 GB/s, so that sending it once takes 10 ms.
constexpr StepCost kCost{.compute = 0.090,
                         .gradient_bytes = 100'000'000,
                         .embedding_bytes = 20'000'000,
                         .bucket_bytes = 10'000'000};
constexpr Network kNetwork{.bandwidth = 10e9};

StepCost with(StepCost cost, const auto& change) {
  change(cost);
  return cost;
}

}  // namespace

TEST_CASE("a ring sends n - 1 parts of 1/n") {
  // 3 x (25 MB / 10 GB/s + 2 x 1 ms)
  CHECK(ring_round(4, 100e6, 2, {.bandwidth = 10e9, .latency = 1e-3}) == Approx(13.5e-3));
  CHECK(ring_round(1, 100e6, 2, kNetwork) == 0);
  // For many processes, the all-reduce of two rounds takes 2 x bytes / bandwidth.
  CHECK(2 * ring_round(1'000'000, 100e6, 1, kNetwork) == Approx(20e-3));
  CHECK(kCost.bytes_sent(4) == Approx(150e6));
  CHECK(kCost.messages(80e6) == 8);
  CHECK(kCost.messages(80e6 + 1) == 9);
}

TEST_CASE("without overlap a step is computing and the reduction") {
  const StepCost cost = with(kCost, [](StepCost& c) { c.overlaps = false; });
  const StepForecast two = forecast_step(cost, 2, kNetwork);
  CHECK(two.reduction == Approx(10e-3));
  CHECK(two.step == Approx(100e-3));
  CHECK(two.hidden() == Approx(0).margin(1e-9));
  CHECK(two.efficiency() == Approx(0.9));
  // 7/8 of 20 ms, and 2 x 7 x 10 messages of 0.1 ms.
  const StepForecast eight = forecast_step(cost, 8, {.bandwidth = 10e9, .latency = 1e-4});
  CHECK(eight.reduction == Approx(17.5e-3 + 14e-3));
  CHECK(eight.step == Approx(121.5e-3));
  // Five rounds: four micro-batches in the deterministic order.
  const StepCost five = with(cost, [](StepCost& c) { c.rounds = 5; });
  CHECK(forecast_step(five, 2, kNetwork).reduction == Approx(25e-3));
}

TEST_CASE("the layers' gradients travel during the backward pass, the embeddings' after it") {
  // The pass takes 60 of 90 ms and has written the first of eight buckets after 7.5. Eight take
  // 8 ms, so that all but the last are gone when it ends: 1 ms for that and 2 for the embeddings.
  const StepForecast two = forecast_step(kCost, 2, kNetwork);
  CHECK(two.step == Approx(93e-3));
  CHECK(two.left() == Approx(3e-3));
  CHECK(two.hidden() == Approx(0.7));
  // A network ten times slower: 80 ms from 37.5 on are more than the pass has left.
  const StepForecast slow = forecast_step(kCost, 2, {.bandwidth = 1e9});
  CHECK(slow.step == Approx(37.5e-3 + 80e-3 + 20e-3));
  CHECK(slow.hidden() == Approx(0.525));
  // Of three micro-batches only the last one's pass, 20 ms, is left for it.
  const StepCost three = with(kCost, [](StepCost& c) { c.micro_batches = 3; });
  CHECK(forecast_step(three, 2, {.bandwidth = 1e9}).step ==
        Approx(90e-3 - 20e-3 + 2.5e-3 + 80e-3 + 20e-3));
  CHECK(forecast_step(kCost, 1, kNetwork).step == Approx(90e-3));
}

TEST_CASE("the table of GPUs in the README of distributed training") {
  // Base size: 0.44 GB, 44 ms, 25 GB/s; the 8 machines of 8 GPUs are the ring.
  const StepCost base{.compute = 0.044,
                      .gradient_bytes = 440'000'000,
                      .embedding_bytes = 94'000'000,
                      .bucket_bytes = 16 << 20,
                      .overlaps = false};
  const StepForecast forecast = forecast_step(base, 8, {.bandwidth = 25e9});
  CHECK(1e3 * forecast.reduction == Approx(30.8).margin(0.1));
  CHECK(forecast.efficiency() == Approx(0.59).margin(0.005));
  StepCost overlapping = base;
  overlapping.overlaps = true;
  CHECK(forecast_step(overlapping, 8, {.bandwidth = 25e9}).efficiency() ==
        Approx(0.85).margin(0.01));
}

TEST_CASE("a network is found again from the times that it gives") {
  const Network network{.bandwidth = 3e9, .latency = 2e-5};
  const StepCost cost = with(kCost, [](StepCost& c) { c.overlaps = false; });
  for (const std::int64_t n : {2, 4}) {
    const double one_number = 2 * ring_round(n, 0, 1, network);
    const Network found =
        fit_network(n, one_number, forecast_step(cost, n, network).reduction, 2, cost);
    CHECK(found.bandwidth == Approx(network.bandwidth));
    CHECK(found.latency == Approx(network.latency));
  }
  // Messages whose latency would be more than the whole time.
  const Network small = fit_network(2, 1.0, 0.5, 2, cost);
  CHECK(small.bandwidth > 0);
  CHECK(small.latency > 0);
  CHECK(forecast_step(cost, 2, small).reduction == Approx(0.5));
}
