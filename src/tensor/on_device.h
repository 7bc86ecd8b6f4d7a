// Tensors of the host on the device where the model computes, and the recording of a GPU graph, for
// which such tensors are constants. on_device() does not wait for a copy, except while a
// graph is recorded: it goes from pinned memory, in the order of the GPU's other work.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <vector>

namespace roformer {

// `host` itself if it is on the device already, else its copy.
at::Tensor on_device(const at::Tensor& host, at::Device device);
// The same, converted to the options' type on the host.
at::Tensor on_device(const at::Tensor& host, const at::TensorOptions& options);

// For a GPU: `host` in pinned memory, from which on_device() copies at once; else `host`. May be
// called on any thread, such as the one that prepares batches.
at::Tensor pinned_for(const at::Tensor& host, at::Device device);

// The recording of one pass as a GPU graph, which repeats the recorded kernels with the recorded
// arguments. The keys of dropout, new in each pass, are therefore read from the device's memory,
// and tables that the host made from the sizes alone stay there. The pass's randomness is a
// function of one key. The recording lives as long as the graph.
class GraphRecording {
 public:
  GraphRecording(std::uint64_t key, at::Device device);
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  // Sets the keys in the device's memory to those of a pass with this key, after the device's other
  // work.
  void renew(std::uint64_t key);

  // Notes that `key` was derived as random_key(words). A word is the pass's key, another derived
  // key or a constant.
  void derived(std::initializer_list<std::uint64_t> words, std::uint64_t key);
  // Where the graph's kernels read a key that was derived.
  const std::uint64_t* address_of(std::uint64_t key) const;
  // `host` on the device, copied now and not as part of the graph.
  at::Tensor constant(const at::Tensor& host);
  // Keeps the memory of a tensor that the graph reads but did not make.
  void keep(const at::Tensor& tensor);
  bool keeps(const at::Tensor& tensor) const;

  // The recording in progress, or null. There is one at a time; its backward pass runs on another
  // thread.
  static GraphRecording* current();

  // The recording is in progress while a Scope lives.
  class Scope {
   public:
    explicit Scope(GraphRecording& recording);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

 private:
  struct Word {
    bool derived = false;
    std::uint64_t number = 0;
    std::size_t index = 0;  // of a derived key
  };

  at::Device device_;
  std::vector<std::vector<Word>> words_;        // of the pass's key and each derived one
  std::map<std::uint64_t, std::size_t> index_;  // of a key of the recorded pass in `table_`
  at::Tensor table_;                            // [keys] int64 on the device
  std::vector<at::Tensor> kept_;                // tensors that the graph reads and does not make
  mutable std::mutex mutex_;
};

// For caches that keep tensors from one pass to the next and may replace them: tells the recording
// in progress that it reads this one. A tensor made while recording must not be cached, because the
// graph overwrites it in every repetition; only those that on_device() copied may be.
void keep_for_graph(const at::Tensor& tensor);
bool records_graph();

// random_key(words), for dropout; a recording in progress notes how the key was derived.
std::uint64_t dropout_key(std::initializer_list<std::uint64_t> words);

}  // namespace roformer
