#include "tensor/gpu/emulation.h"

#include <ucontext.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Index {
  unsigned x = 0, y = 0;
};
Index threadIdx, blockIdx, blockDim, gridDim;

// The threads of one block. Only one of them runs at a time, until it waits for others.
class Block {
 public:
  void run(unsigned threads, const std::function<void()>& body) {
    body_ = &body;
    fibers_.resize(threads);
    for (Fiber& fiber : fibers_) {
      fiber.done = false;
      if (fiber.stack == nullptr) fiber.stack = std::make_unique<char[]>(kStack);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, &Block::enter, 0);
    }
    for (bool alive = true; alive;) {
      alive = false;
      for (running_ = 0; running_ < threads; ++running_) {
        if (fibers_[running_].done) continue;
        alive = true;
        threadIdx.x = running_;
        swapcontext(&scheduler_, &fibers_[running_].context);
      }
    }
  }

  // Returns when the threads [first, first + count) have all come here.
  void wait(unsigned first, unsigned count) {
    Meeting& meeting = meetings_[{first, count}];
    const unsigned long round = meeting.round;
    if (++meeting.arrived == count) {
      meeting.arrived = 0;
      ++meeting.round;
    }
    while (meeting.round == round) yield();
  }

  template <typename T>
  T exchange(T value, int distance) {
    const unsigned thread = threadIdx.x, first = thread / 32 * 32;
    std::memcpy(&slots_[thread], &value, sizeof value);
    wait(first, 32);
    T other;
    std::memcpy(&other, &slots_[thread ^ static_cast<unsigned>(distance)], sizeof other);
    wait(first, 32);
    return other;
  }

 private:
  static constexpr std::size_t kStack = 1 << 17;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done = false;
  };
  struct Meeting {
    unsigned arrived = 0;
    unsigned long round = 0;
  };
  std::vector<Fiber> fibers_;
  std::map<std::pair<unsigned, unsigned>, Meeting> meetings_;
  std::array<double, 1024> slots_;
  ucontext_t scheduler_;
  unsigned running_ = 0;
  const std::function<void()>* body_ = nullptr;

  void yield() {
    const unsigned own = threadIdx.x;
    swapcontext(&fibers_[own].context, &scheduler_);
    threadIdx.x = own;
  }
  static void enter();
};

Block block;

void Block::enter() {
  (*block.body_)();
  block.fibers_[threadIdx.x].done = true;
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return block.exchange(value, distance);
}
void __syncthreads() {
  block.wait(0, blockDim.x);
}

}  // namespace

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#define __global__
#define __shared__ static
#define ROFORMER_KERNELS_NAMESPACE emulated
#define ROFORMER_INLINE inline
#include "tensor/gpu/sources/activations.cu"
#include "tensor/gpu/sources/adamw.cu"
#include "tensor/gpu/sources/cross_entropy.cu"
#include "tensor/gpu/sources/residual_norm.cu"
#include "tensor/gpu/sources/rotate.cu"
#undef ROFORMER_INLINE
#undef ROFORMER_KERNELS_NAMESPACE
#undef __shared__
#undef __global__

namespace roformer {
namespace {

struct Kernel {
  const char* source;
  std::string name;
  std::function<void(const void* const*)> call;
};

template <typename... Parameters, std::size_t... kIndex>
void call(void (*kernel)(Parameters...), const void* const* values,
          std::index_sequence<kIndex...>) {
  kernel(*static_cast<const Parameters*>(values[kIndex])...);
}
template <typename... Parameters>
std::function<void(const void* const*)> caller(void (*kernel)(Parameters...)) {
  return [kernel](const void* const* values) {
    call(kernel, values, std::index_sequence_for<Parameters...>());
  };
}

const std::vector<Kernel>& kernels_here() {
  using namespace kernels::emulated;
#define KERNEL(source, ...) \
  { source, #__VA_ARGS__, caller(__VA_ARGS__) }
#define OWNED(T, vector, owned)                                     \
  KERNEL("residual_norm", residual_norm_forward<T, vector, owned>), \
      KERNEL("residual_norm", residual_norm_backward<T, vector, owned>)
#define VECTOR(T, vector)                                                            \
  KERNEL("activations", bias_activation_forward<T, vector>),                         \
      KERNEL("activations", bias_activation_backward<T, vector>),                    \
      KERNEL("activations", gated_activation_forward<T, vector>),                    \
      KERNEL("activations", gated_activation_backward<T, vector>),                   \
      KERNEL("rotate", rotate<T, vector>), OWNED(T, vector, 1), OWNED(T, vector, 2), \
      OWNED(T, vector, 3)
#define TYPE(T) VECTOR(T, 1), VECTOR(T, 4), KERNEL("cross_entropy", cross_entropy<T>)
#define WIDE(T)                                                          \
  KERNEL("adamw", adamw_decide<T>), KERNEL("adamw", adamw_update<T, 1>), \
      KERNEL("adamw", adamw_update<T, 4>)
  static const std::vector<Kernel> all = {TYPE(float), TYPE(double), TYPE(c10::BFloat16),
                                          WIDE(float), WIDE(double)};
#undef WIDE
#undef TYPE
#undef VECTOR
#undef OWNED
#undef KERNEL
  return all;
}

}  // namespace

void emulate_kernel(const gpu::Launch& what) {
  for (const Kernel& kernel : kernels_here()) {
    if (kernel.name != what.kernel) continue;
    if (std::string(kernel.source) != what.source) break;
    blockDim = {.x = static_cast<unsigned>(what.threads), .y = 1};
    gridDim = {.x = static_cast<unsigned>(what.blocks_x),
               .y = static_cast<unsigned>(what.blocks_y)};
    const std::function<void()> body = [&] { kernel.call(what.values.data()); };
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) block.run(blockDim.x, body);
    }
    return;
  }
  throw std::runtime_error(std::string("no emulation of ") + what.source + ": " + what.kernel);
}

std::vector<std::pair<std::string, std::string>> emulated_kernels() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Kernel& kernel : kernels_here()) names.emplace_back(kernel.source, kernel.name);
  return names;
}

}  // namespace roformer
