// A stand-in for libroformer_cuda.so without CUDA and NCCL. It keeps NCCL's rules for its callers:
// a tensor is contiguous and not on the CPU, all ranks make the same calls in the same order, and
// until a call has been waited for its result is undefined (here NaN) and what it sends must not
// change. The ranks exchange their tensors through the store of the group.
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "tensor/gpu/plugin.h"
#include "training/distributed/nccl_plugin.h"
#include "training/nccl_stub/calls.h"

namespace roformer {
namespace {

using Bytes = std::vector<std::uint8_t>;
// From what every rank has sent, in their order, into the output.
using Combine = std::function<void(const std::vector<Bytes>& sent, std::uint8_t* output)>;

constexpr int kMostRanks = 8;
std::array<NcclStubRank, kMostRanks> ranks;

constexpr std::uint8_t kUndefined = 0xFF;  // NaN, where all bytes have it

Bytes bytes_of(const at::Tensor& tensor) {
  const auto* const begin = static_cast<const std::uint8_t*>(tensor.const_data_ptr());
  return {begin, begin + tensor.nbytes()};
}

void require_tensor(const at::Tensor& tensor) {
  TORCH_CHECK(!tensor.is_cpu(), "NCCL got a tensor of the CPU");
  TORCH_CHECK(tensor.is_contiguous(), "NCCL got a tensor that is not contiguous");
}

class StubWork : public c10d::Work {
 public:
  StubWork(const NcclGroupRequest& group, std::size_t number, at::Tensor output, at::Tensor input,
           Combine combine)
      : group_(group),
        number_(number),
        output_(std::move(output)),
        input_(std::move(input)),
        combine_(std::move(combine)),
        what_(call().what) {
    Bytes message(what_.begin(), what_.end());
    message.push_back('\0');
    const Bytes sent = bytes_of(input_);
    message.insert(message.end(), sent.begin(), sent.end());
    if (!fails()) group_.store->set(key(group_.rank), message);
    std::memset(output_.mutable_data_ptr(), kUndefined, output_.nbytes());
    before_ = bytes_of(input_);  // undefined, too, if it is also the output
  }

  bool isCompleted() override {
    if (fails()) return true;
    std::vector<std::string> keys;
    for (int rank = 0; rank < group_.count; ++rank) keys.push_back(key(rank));
    return group_.store->check(keys);
  }
  std::exception_ptr exception() const override {
    if (!fails()) return nullptr;
    return std::make_exception_ptr(std::runtime_error("NCCL error: a cable is loose\nmore of it"));
  }
  bool wait(std::chrono::milliseconds) override {
    if (fails()) std::rethrow_exception(exception());
    TORCH_CHECK(isCompleted(), "the caller must look before it makes its stream wait");
    synchronize();
    return true;
  }
  void synchronize() override {
    if (std::exchange(call().waited, true)) return;
    TORCH_CHECK(bytes_of(input_) == before_, what_, ": its tensor was changed meanwhile");
    std::vector<Bytes> all;
    for (int rank = 0; rank < group_.count; ++rank) {
      const Bytes message = group_.store->get(key(rank));
      const std::string what(reinterpret_cast<const char*>(message.data()));
      TORCH_CHECK(what == what_, "call ", number_, " of rank ", rank, " is ", what, ", of rank ",
                  group_.rank, " ", what_);
      all.emplace_back(message.begin() + static_cast<std::ptrdiff_t>(what.size()) + 1,
                       message.end());
    }
    combine_(all, static_cast<std::uint8_t*>(output_.mutable_data_ptr()));
  }

 private:
  NcclGroupRequest group_;
  std::size_t number_;
  at::Tensor output_, input_;
  Combine combine_;
  std::string what_;
  Bytes before_;

  NcclStubRank& rank() const { return ranks.at(static_cast<std::size_t>(group_.rank)); }
  NcclCall& call() const { return rank().calls.at(number_); }
  bool fails() const { return rank().failure == NcclFailure::later && rank().fails_at == number_; }
  std::string key(int rank) const {
    return "call/" + std::to_string(number_) + "/" + std::to_string(rank);
  }
};

template <typename T>
void add(const std::vector<Bytes>& sent, std::uint8_t* output) {
  const std::size_t count = sent.front().size() / sizeof(T);
  T* const sums = reinterpret_cast<T*>(output);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = 0;
    for (const Bytes& one : sent) sums[i] += reinterpret_cast<const T*>(one.data())[i];
  }
}

class StubGroup : public c10d::Backend {
 public:
  explicit StubGroup(const NcclGroupRequest& request)
      : Backend(request.rank, request.count), group_(request) {}

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    TORCH_CHECK(tensors.size() == 1 && options.reduceOp == c10d::ReduceOp::SUM);
    const at::ScalarType type = tensors[0].scalar_type();
    TORCH_CHECK(type == at::kFloat || type == at::kDouble);
    return begin("allreduce", tensors[0], tensors[0],
                 type == at::kFloat ? add<float> : add<double>);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    TORCH_CHECK(tensors.size() == 1 && options.rootRank == 0);
    return begin("broadcast", tensors[0], tensors[0],
                 [](const std::vector<Bytes>& sent, std::uint8_t* output) {
                   std::memcpy(output, sent[0].data(), sent[0].size());
                 });
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions&) override {
    TORCH_CHECK(output.numel() == input.numel() * getSize());
    return begin("allgather", output, input, [](const std::vector<Bytes>& sent, std::uint8_t* to) {
      for (const Bytes& one : sent) {
        std::memcpy(to, one.data(), one.size());
        to += one.size();
      }
    });
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<std::int64_t>& output_split,
                                               std::vector<std::int64_t>& input_split,
                                               const c10d::AllToAllOptions&) override {
    TORCH_CHECK(output_split.empty() && input_split.empty());
    TORCH_CHECK(input.size(0) % getSize() == 0 && output.numel() == input.numel());
    return begin("alltoall", output, input,
                 [rank = static_cast<std::size_t>(getRank())](const std::vector<Bytes>& sent,
                                                              std::uint8_t* to) {
                   for (const Bytes& one : sent) {
                     const std::size_t size = one.size() / sent.size();
                     std::memcpy(to, one.data() + rank * size, size);
                     to += size;
                   }
                 });
  }

 private:
  NcclGroupRequest group_;

  c10::intrusive_ptr<c10d::Work> begin(const char* operation, const at::Tensor& output,
                                       const at::Tensor& input, Combine combine) {
    require_tensor(output);
    require_tensor(input);
    TORCH_CHECK(output.scalar_type() == input.scalar_type());
    NcclStubRank& rank = ranks.at(static_cast<std::size_t>(getRank()));
    const std::size_t number = rank.calls.size();
    rank.calls.push_back({.what = std::string(operation) + " " + toString(input.scalar_type()) +
                                  " " + std::to_string(input.numel())});
    if (rank.failure == NcclFailure::at_once && rank.fails_at == number) {
      throw std::runtime_error("NCCL error: no memory is left\nmore of it");
    }
    return c10::make_intrusive<StubWork>(group_, number, output, input, std::move(combine));
  }
};

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int roformer_plugin_version() {
  return gpu::kPluginVersion;
}

[[gnu::visibility("default")]] std::string roformer_nccl_plugin_reason() {
  return "";
}

[[gnu::visibility("default")]] void roformer_make_nccl_group(
    const NcclGroupRequest& request, c10::intrusive_ptr<c10d::Backend>& group) {
  ranks.at(static_cast<std::size_t>(request.rank)).calls.clear();
  group = c10::make_intrusive<StubGroup>(request);
}

[[gnu::visibility("default")]] NcclStubRank& roformer_nccl_stub_rank(int rank) {
  return ranks.at(static_cast<std::size_t>(rank));
}

}  // extern "C"

}  // namespace roformer
