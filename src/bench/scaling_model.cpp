#include "bench/scaling_model.h"

#include <algorithm>
#include <cmath>

namespace roformer {

std::int64_t StepCost::messages(double bytes) const {
  return static_cast<std::int64_t>(std::ceil(bytes / static_cast<double>(bucket_bytes)));
}

double StepCost::bytes_sent(std::int64_t processes) const {
  const auto n = static_cast<double>(processes);
  return static_cast<double>(rounds * gradient_bytes) * (n - 1) / n;
}

double ring_round(std::int64_t processes, double bytes, std::int64_t messages,
                  const Network& network) {
  const auto n = static_cast<double>(processes);
  return (n - 1) *
         (bytes / n / network.bandwidth + static_cast<double>(messages) * network.latency);
}

Network fit_network(std::int64_t processes, double one_number, double reduction,
                    std::int64_t rounds, const StepCost& cost) {
  const auto bytes = static_cast<double>(cost.gradient_bytes);
  const std::int64_t messages = cost.messages(bytes);
  const auto n = static_cast<double>(processes);
  constexpr double kRoundsOfSum = 2;
  double latency = one_number / (kRoundsOfSum * (n - 1));
  const auto sent = static_cast<double>(rounds) * (n - 1);
  double sending = reduction - sent * static_cast<double>(messages) * latency;
  if (sending <= 0) {  // a small model, whose messages are all latency
    latency = reduction / (sent * static_cast<double>(messages) * 2);
    sending = reduction / 2;
  }
  return {.bandwidth = sent * bytes / n / sending, .latency = latency};
}

StepForecast forecast_step(const StepCost& cost, std::int64_t processes, const Network& network) {
  const auto time_of = [&](double bytes) {
    return static_cast<double>(cost.rounds) *
           ring_round(processes, bytes, cost.messages(bytes), network);
  };
  StepForecast forecast{.processes = processes, .compute = cost.compute};
  const auto embeddings = static_cast<double>(cost.embedding_bytes);
  const double layers = static_cast<double>(cost.gradient_bytes) - embeddings;
  forecast.reduction = time_of(layers) + time_of(embeddings);
  if (!cost.overlaps || layers <= 0) {
    forecast.step = cost.compute + forecast.reduction;
    return forecast;
  }
  // The backward pass is two thirds of a micro-batch. It writes the layers evenly.
  constexpr double kBackward = 2.0 / 3;
  const double bucket = std::min(static_cast<double>(cost.bucket_bytes), layers);
  const double backward = kBackward * cost.compute / static_cast<double>(cost.micro_batches);
  const double first_ready = cost.compute - backward * (1 - bucket / layers);
  const double layers_sent =
      std::max(cost.compute + time_of(bucket), first_ready + time_of(layers));
  forecast.step = layers_sent + time_of(embeddings);
  return forecast;
}

}  // namespace roformer
