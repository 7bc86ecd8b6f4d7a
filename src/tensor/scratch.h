// Memory of one thread's work, which it keeps from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace roformer {

// Meant to be thread_local; a call may move what the one before gave.
template <typename T>
class Scratch {
 public:
  T* operator()(std::int64_t count) {
    if (count > static_cast<std::int64_t>(size_)) {
      memory_.reset(new (std::align_val_t{64}) T[static_cast<std::size_t>(count)]);
      size_ = static_cast<std::size_t>(count);
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(T* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace roformer
