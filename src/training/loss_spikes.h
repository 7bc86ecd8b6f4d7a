// Tells a loss that leaps up from the noise of batches: said in the log, since a run that survived
// one is often worse for it.
#pragma once

#include <cstdint>

namespace roformer {

class LossSpikes {
 public:
  // Takes the loss of a step, a finite one. True where it is far above those before: by six of
  // their deviations and by a fifth of their mean. It is not said again before the losses have come
  // down.
  bool add(double loss);
  double mean() const { return mean_; }  // of the losses before, those long ago counting less

 private:
  double mean_ = 0;
  double variance_ = 0;
  std::int64_t count_ = 0;
  bool inside_ = false;
};

}  // namespace roformer
