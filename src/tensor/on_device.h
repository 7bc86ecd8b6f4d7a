// What the host has made, where the model computes. The host never waits for the copy: on a GPU it
// goes from pinned memory, in the order of the GPU's other work. While a graph is recorded, it is a
// constant of that (graph_recording.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <vector>

namespace roformer {

// `host` itself on the CPU, else its copy. A tensor that is on the device already stays as it is.
at::Tensor on_device(const at::Tensor& host, at::Device device);
// The same with another type, which the host gives it.
at::Tensor on_device(const at::Tensor& host, const at::TensorOptions& options);

// `host` in memory from which on_device() copies at once, where `device` is a GPU; else itself. May
// be called on any thread: who makes batches ahead pins them there.
at::Tensor pinned_for(const at::Tensor& host, at::Device device);

// What a pass needs whose kernels a GPU records as a graph, to be run again as one piece with other
// numbers. A graph repeats the recorded kernels with the recorded arguments: what the host decides
// for each pass anew, the keys of dropout, has to stand in the device's memory instead, and what it
// makes from the sizes alone has to stay there.

// The recording of one pass, whose randomness is a function of one key. It lives as long as the
// graph does.
class GraphRecording {
 public:
  GraphRecording(std::uint64_t key, at::Device device);
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  // The keys in the device's memory become those that the pass would have with this one, behind the
  // device's other work.
  void renew(std::uint64_t key);

  // What was derived as random_key(words); a word is the pass's key, another derived one or, for
  // any key, the same number.
  void derived(std::initializer_list<std::uint64_t> words, std::uint64_t key);
  // Where the kernels of the graph find it. It must have been derived.
  const std::uint64_t* address_of(std::uint64_t key) const;
  // `host` in the device's memory, by a copy that is made now and is not part of the graph.
  at::Tensor constant(const at::Tensor& host);
  // The graph reads this tensor, which it has not made: its memory stays.
  void keep(const at::Tensor& tensor);
  bool keeps(const at::Tensor& tensor) const;

  // The one that is under way, or null. One at a time; its backward pass asks from another thread.
  static GraphRecording* current();

  // While it lives, the recording is under way.
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
    std::size_t index = 0;  // of a derived one among the keys
  };

  at::Device device_;
  std::vector<std::vector<Word>> words_;        // of each derived key, behind the pass's own
  std::map<std::uint64_t, std::size_t> index_;  // of a key of the recorded pass in `table_`
  at::Tensor table_;                            // [keys] int64 on the device
  std::vector<at::Tensor> kept_;                // what the graph reads and does not make
  mutable std::mutex mutex_;
};

// For who keeps tensors from one pass to the next and may replace them: a recording that is under
// way is told of one that it is given. What is made while one is under way is the graph's own and
// written again whenever that is repeated, so that nobody may keep it, but for what on_device() has
// brought there.
void keep_for_graph(const at::Tensor& tensor);
bool records_graph();

// random_key(words), for dropout: a recording knows how it came about.
std::uint64_t dropout_key(std::initializer_list<std::uint64_t> words);

}  // namespace roformer
