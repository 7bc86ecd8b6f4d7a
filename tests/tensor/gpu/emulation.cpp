#undef _FORTIFY_SOURCE  // would refuse a longjmp to another stack

#include "tensor/gpu/emulation.h"

#include <c10/util/BFloat16.h>
#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct Index {
  unsigned x = 0, y = 0;
};
Index threadIdx, blockIdx, blockDim, gridDim;

// A point in the work of one stack, to which another can return.
struct Place {
  ucontext_t context;
  jmp_buf registers;
  bool entered = true;  // else `context` says where its work begins
};

void go_from(Place& here, Place& there) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  swapcontext(&here.context, &there.context);  // which sanitizers can follow
#else
  // swapcontext sets the mask of signals, a system call: half of a test's time.
  if (_setjmp(here.registers) != 0) return;
  if (there.entered) _longjmp(there.registers, 1);
  there.entered = true;
  setcontext(&there.context);
#endif
}

// The threads of one block. Only one of them runs at a time, until it waits for others.
class Block {
 public:
  void run(unsigned threads, const std::function<void()>& body) {
    body_ = &body;
    while (fibers_.size() < threads) make_fiber();
    for (Fiber& fiber : fibers_) {
      fiber.done = false;
      fiber.exchanges = 0;
    }
    for (bool alive = true; alive;) {
      alive = false;
      for (unsigned thread = 0; thread < threads; ++thread) {
        if (fibers_[thread].done) continue;
        alive = true;
        threadIdx.x = thread;
        go_from(scheduler_, fibers_[thread].place);
      }
    }
  }

  // Returns when the threads [first, first + count), a warp or all of the block, have come here.
  void wait(unsigned first, unsigned count) {
    Meeting& meeting = count == kWarp ? warps_[first / kWarp] : whole_;
    const unsigned long round = meeting.round;
    if (++meeting.arrived == count) {
      meeting.arrived = 0;
      ++meeting.round;
    }
    while (meeting.round == round) yield();
  }

  // Shows a value to the threads of the own warp and calls read(of): of(lane) is that of a thread.
  template <typename T, typename Read>
  auto with_warp(const T& value, const Read& read) {
    static_assert(sizeof value <= sizeof(Slot) && std::is_trivially_copyable_v<T>);
    const unsigned thread = threadIdx.x, first = thread / kWarp * kWarp;
    // Two sets in turn: nobody writes one again before all have come to the meeting of the other.
    auto& slots = slots_[fibers_[thread].exchanges++ % 2];
    std::memcpy(&slots[thread], &value, sizeof value);
    wait(first, kWarp);
    return read([&](unsigned lane) -> const T& {
      return *reinterpret_cast<const T*>(&slots[first + lane]);
    });
  }

 private:
  static constexpr std::size_t kStack = 1 << 17;
  static constexpr unsigned kWarp = 32;
  struct Fiber {
    Place place;
    std::unique_ptr<char[]> stack;
    bool done = false;
    unsigned exchanges = 0;
  };
  struct Meeting {
    unsigned arrived = 0;
    unsigned long round = 0;
  };
  std::deque<Fiber> fibers_;  // a place cannot be moved
  std::array<Meeting, 1024 / kWarp> warps_;
  Meeting whole_;
  using Slot = std::array<double, 4>;
  std::array<std::array<Slot, 1024>, 2> slots_;
  Place scheduler_;
  const std::function<void()>* body_ = nullptr;

  void yield() {
    const unsigned own = threadIdx.x;
    go_from(fibers_[own].place, scheduler_);
    threadIdx.x = own;
  }
  void make_fiber() {
    Fiber& fiber = fibers_.emplace_back();
    fiber.stack = std::make_unique<char[]>(kStack);
    ucontext_t& context = fiber.place.context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kStack;
    makecontext(&context, &Block::enter, 0);
    fiber.place.entered = false;
  }
  // The life of a fiber: the thread of its number in one block after the other.
  [[noreturn]] static void enter();
};

Block block;

void Block::enter() {
  Fiber& own = block.fibers_[threadIdx.x];
  for (;;) {
    (*block.body_)();
    own.done = true;
    go_from(own.place, block.scheduler_);
  }
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return block.with_warp(value, [&](const auto& of) {
    return of(threadIdx.x % 32 ^ static_cast<unsigned>(distance));
  });
}
void __syncthreads() {
  block.wait(0, blockDim.x);
}
void __syncwarp() {}  // who computes together meets in with_warp

}  // namespace

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define ROFORMER_KERNELS_NAMESPACE emulated
#define ROFORMER_INLINE inline

// What sources/matrix.h has of the instructions of a GPU.
namespace roformer::kernels::emulated {

std::uint32_t bfloat16_pair(float first, float second) {
  const std::uint32_t low = c10::BFloat16(first).x, high = c10::BFloat16(second).x;
  return low | high << 16;
}

float half_of(std::uint32_t pair, bool high) {
  return c10::BFloat16(static_cast<std::uint16_t>(high ? pair >> 16 : pair),
                       c10::BFloat16::from_bits());
}

// Elements as the PTX manual lays them over the threads of mma.m16n8k16.
void add_product(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right_above,
                 std::uint32_t right_below) {
  struct Operands {
    std::uint32_t left[4], right[2];
  };
  const Operands own{.left = {left[0], left[1], left[2], left[3]},
                     .right = {right_above, right_below}};
  const unsigned lane = threadIdx.x % 32;
  const auto products = block.with_warp(own, [&](const auto& of) {
    std::array<float, 4> result = {};
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
      for (unsigned k = 0; k < 16; ++k) {
        const unsigned holder = k % 8 / 2;  // among the four threads of a row or column
        const float a = half_of(of(row % 8 * 4 + holder).left[k / 8 * 2 + row / 8], k % 2 == 1);
        const float b = half_of(of(column * 4 + holder).right[k / 8], k % 2 == 1);
        result[e] += a * b;
      }
    }
    return result;
  });
  for (std::size_t e = 0; e < 4; ++e) sums[e] += products[e];
}

template <bool kTransposed>
void load_matrices(const c10::BFloat16* row, std::uint32_t (&matrices)[4]) {
  const unsigned lane = threadIdx.x % 32;
  const auto loaded = block.with_warp(row, [&](const auto& of) {
    std::array<std::uint32_t, 4> result;
    for (unsigned m = 0; m < 4; ++m) {
      const auto element = [&](unsigned r, unsigned c) { return of(8 * m + r)[c].x; };
      const unsigned along = lane % 4 * 2, other = lane / 4;
      const std::uint32_t low = kTransposed ? element(along, other) : element(other, along);
      const std::uint32_t high =
          kTransposed ? element(along + 1, other) : element(other, along + 1);
      result[m] = low | high << 16;
    }
    return result;
  });
  for (std::size_t m = 0; m < 4; ++m) matrices[m] = loaded[m];
}

// At once; what is read before a barrier that CUDA would need is not seen here.
template <int kBytes>
void begin_copy(void* to, const void* from, bool there) {
  if (there) {
    std::memcpy(to, from, kBytes);
  } else {
    std::memset(to, 0, kBytes);
  }
}
void wait_for_copies() {}

float power_of_2(float x) {
  return std::exp2(x);
}

unsigned char* dynamic_shared() {
  alignas(16) static std::array<unsigned char, 1 << 18> memory;
  return memory.data();
}

}  // namespace roformer::kernels::emulated
#include "tensor/gpu/sources/activations.cu"
#include "tensor/gpu/sources/adamw.cu"
#include "tensor/gpu/sources/cross_entropy.cu"
#include "tensor/gpu/sources/residual_norm.cu"
#include "tensor/gpu/sources/rotate.cu"
#include "tensor/gpu/sources/sums.cu"
#include "tensor/gpu/sources/tiled_attention.cu"
#undef ROFORMER_INLINE
#undef ROFORMER_KERNELS_NAMESPACE
#undef __launch_bounds__
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
#define OWNED(T, vector, owned, warp)                                     \
  KERNEL("residual_norm", residual_norm_forward<T, vector, owned, warp>), \
      KERNEL("residual_norm", residual_norm_backward<T, vector, owned, warp>)
#define VECTOR(T, vector)                                                                    \
  KERNEL("activations", bias_activation_forward<T, vector>),                                 \
      KERNEL("activations", bias_activation_backward<T, vector>),                            \
      KERNEL("activations", gated_activation_forward<T, vector>),                            \
      KERNEL("activations", gated_activation_backward<T, vector>),                           \
      KERNEL("rotate", rotate<T, vector, false>), KERNEL("rotate", rotate<T, vector, true>), \
      OWNED(T, vector, 1, true), OWNED(T, vector, 2, true), OWNED(T, vector, 3, true),       \
      OWNED(T, vector, 2, false), OWNED(T, vector, 5, false)
#define TYPE(T)                                                                   \
  VECTOR(T, 1), VECTOR(T, 4), KERNEL("cross_entropy", cross_entropy<T, 1, true>), \
      KERNEL("cross_entropy", cross_entropy<T, 4, true>),                         \
      KERNEL("cross_entropy", cross_entropy<T, 1, false>),                        \
      KERNEL("cross_entropy", cross_entropy<T, 4, false>)
#define WIDE(T)                                                                                  \
  KERNEL("sums", add_pieces<T>), KERNEL("adamw", squares<T, 1>), KERNEL("adamw", squares<T, 4>), \
      KERNEL("adamw", adamw_decide<T>), KERNEL("adamw", adamw_update<T, 1>),                     \
      KERNEL("adamw", adamw_update<T, 4>), KERNEL("adamw", muon_momentum<T, 1>),                 \
      KERNEL("adamw", muon_momentum<T, 4>), KERNEL("adamw", muon_descend<T, 1>),                 \
      KERNEL("adamw", muon_descend<T, 4>)
#define ADDED(width, added)                                              \
  KERNEL("tiled_attention", attention_forward<width, added>),            \
      KERNEL("tiled_attention", attention_query_gradient<width, added>), \
      KERNEL("tiled_attention", attention_key_gradient<width, added>)
#define ATTENTION(width)                                 \
  ADDED(width, 0), ADDED(width, 1), ADDED(width, 2),     \
      KERNEL("tiled_attention", attention_pair_gradient<width>)
  static const std::vector<Kernel> all = {
      TYPE(float),
      TYPE(double),
      TYPE(c10::BFloat16),
      VECTOR(c10::BFloat16, 8),
      KERNEL("cross_entropy", cross_entropy<c10::BFloat16, 8, true>),
      KERNEL("cross_entropy", cross_entropy<c10::BFloat16, 8, false>),
      WIDE(float),
      WIDE(double),
      ATTENTION(16),
      ATTENTION(48),
      ATTENTION(64),
      ATTENTION(128),
      KERNEL("tiled_attention", attention_windows),
      KERNEL("tiled_attention", attention_difference_sums)};
#undef ATTENTION
#undef ADDED
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
