#include "training/flush_denormals.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace roformer {

void flush_denormals() {
  // The setting is a thread's own: each worker gets one turn of a loop.
  at::globalContext().setFlushDenormal(true);
  at::parallel_for(0, at::get_num_threads(), 1,
                   [](std::int64_t, std::int64_t) { at::globalContext().setFlushDenormal(true); });
}

}  // namespace roformer
