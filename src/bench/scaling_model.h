// The time of a training step on any number of processes, from the time of computing and a network:
// the model of training/distributed/README.md. The gradients are added around a ring, which is the
// all-reduce that sends the fewest bytes (Patarasu and Yuan 2009, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations").
#pragma once

#include <cstdint>

namespace roformer {

struct Network {
  double bandwidth = 1;  // bytes/s that a process sends and receives at the same time
  double latency = 0;    // seconds of one message
};

// A step of one process, without the others.
struct StepCost {
  double compute = 0;  // seconds
  std::int64_t micro_batches = 1;
  std::int64_t gradient_bytes = 0;
  std::int64_t embedding_bytes = 0;  // of the gradient: written at the end of the backward pass
  std::int64_t bucket_bytes = 1;     // sent in one message after being cut into a part a process
  // How often the gradient, or values of that size, goes around the ring in a step.
  std::int64_t rounds = 2;
  bool overlaps = true;  // the backward pass of the last micro-batch goes on meanwhile

  std::int64_t messages(double bytes) const;
  double bytes_sent(std::int64_t processes) const;  // by each, in a step
};

// Seconds in which n processes send `bytes` around the ring once. Each sends n - 1 times a part of
// 1/n, in `messages` messages each time.
double ring_round(std::int64_t processes, double bytes, std::int64_t messages,
                  const Network& network);

// The network in which n processes sum one number in `one_number` seconds and take `reduction` for
// `rounds` rounds of that gradient.
Network fit_network(std::int64_t processes, double one_number, double reduction,
                    std::int64_t rounds, const StepCost& cost);

struct StepForecast {
  std::int64_t processes = 1;
  double compute = 0;    // seconds, as given
  double reduction = 0;  // of adding the gradients, if nothing else happened
  double step = 0;

  double left() const { return step - compute; }  // the part of the reduction that is not hidden
  // Shares in [0, 1]: of the reduction, and of the step that is computing.
  double hidden() const { return reduction > left() ? 1 - left() / reduction : 0; }
  double efficiency() const { return compute / step; }
};

// Each process has the same work for any number of them, and none waits for a slower one.
StepForecast forecast_step(const StepCost& cost, std::int64_t processes, const Network& network);

}  // namespace roformer
