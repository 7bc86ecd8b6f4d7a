#include "tensor/on_device.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/error.h"
#include "base/random.h"
#include "tensor/aten.h"

namespace roformer {

at::Tensor pinned_for(const at::Tensor& host, at::Device device) {
  if (!device.is_cuda() || !host.is_cpu()) return host;
  const c10::DeviceGuard guard(device);  // pinning would wake up the first GPU otherwise
  return host.pin_memory();
}

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  if (host.device() == device) return host;
  if (GraphRecording* const recording = GraphRecording::current()) return recording->constant(host);
  // LibTorch keeps pinned memory until the copy has been made.
  return pinned_for(host, device).to(device, /*non_blocking=*/true);
}

at::Tensor on_device(const at::Tensor& host, const at::TensorOptions& options) {
  return on_device(host.to(options.dtype()), options.device());
}

namespace {

constexpr std::size_t kMostKeys = 4096;

std::atomic<GraphRecording*>& under_way() {
  static std::atomic<GraphRecording*> recording = nullptr;
  return recording;
}

// One that is not recorded, so that it carries out what it is given. LibTorch hands out the same
// few streams in turns: that of the recording, which is the current one here, can be among them.
c10::Stream stream_of_copies(at::Device device) {
  const c10::impl::VirtualGuardImpl gpu(device.type());
  static c10::Stream stream = gpu.getStreamFromGlobalPool(device);
  while (stream == gpu.getStream(device)) stream = gpu.getStreamFromGlobalPool(device);
  return stream;
}

}  // namespace

GraphRecording::GraphRecording(std::uint64_t key, at::Device device)
    : device_(device),
      words_(1),
      index_{{key, 0}},
      table_(at::zeros({static_cast<std::int64_t>(kMostKeys)},
                       at::TensorOptions().dtype(at::kLong).device(device))) {}

void GraphRecording::renew(std::uint64_t key) {
  const at::Tensor host = at::empty({static_cast<std::int64_t>(words_.size())}, at::kLong);
  auto* const keys = host.mutable_data_ptr<std::int64_t>();
  keys[0] = std::bit_cast<std::int64_t>(key);
  for (std::size_t i = 1; i < words_.size(); ++i) {
    std::uint64_t made = 0;  // as random_key makes it, a word at a time
    for (const Word& word : words_[i]) {
      made =
          mix(made ^ (word.derived ? std::bit_cast<std::uint64_t>(keys[word.index]) : word.number));
    }
    keys[i] = std::bit_cast<std::int64_t>(made);
  }
  table_.narrow(0, 0, host.numel()).copy_(pinned_for(host, device_), /*non_blocking=*/true);
}

void GraphRecording::derived(std::initializer_list<std::uint64_t> words, std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  if (index_.contains(key)) return;  // a layer is computed again in the backward pass
  ROFORMER_ASSERT(words_.size() < kMostKeys);
  std::vector<Word> origin;
  for (const std::uint64_t word : words) {
    const auto known = index_.find(word);
    origin.push_back(known == index_.end() ? Word{.number = word}
                                           : Word{.derived = true, .index = known->second});
  }
  index_[key] = words_.size();
  words_.push_back(std::move(origin));
}

const std::uint64_t* GraphRecording::address_of(std::uint64_t key) const {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  ROFORMER_ASSERT(found != index_.end());
  return reinterpret_cast<const std::uint64_t*>(table_.const_data_ptr<std::int64_t>()) +
         found->second;
}

at::Tensor GraphRecording::constant(const at::Tensor& host) {
  at::Tensor made = host;
  if (device_.is_cuda()) {
    const c10::StreamGuard guard(stream_of_copies(device_));
    made = host.to(device_);
  }
  keep(made);
  return made;
}

void GraphRecording::keep(const at::Tensor& tensor) {
  const std::lock_guard lock(mutex_);
  if (!keeps(tensor)) kept_.push_back(tensor);
}

bool GraphRecording::keeps(const at::Tensor& tensor) const {
  return std::ranges::any_of(kept_, [&](const at::Tensor& x) { return x.is_same(tensor); });
}

GraphRecording* GraphRecording::current() {
  return under_way();
}

GraphRecording::Scope::Scope(GraphRecording& recording) {
  ROFORMER_ASSERT(under_way() == nullptr);
  under_way() = &recording;
}

GraphRecording::Scope::~Scope() {
  under_way() = nullptr;
}

void keep_for_graph(const at::Tensor& tensor) {
  if (GraphRecording* const recording = GraphRecording::current()) recording->keep(tensor);
}

bool records_graph() {
  return GraphRecording::current() != nullptr;
}

std::uint64_t dropout_key(std::initializer_list<std::uint64_t> words) {
  const std::uint64_t key = random_key(words);
  if (GraphRecording* const recording = GraphRecording::current()) recording->derived(words, key);
  return key;
}

}  // namespace roformer
