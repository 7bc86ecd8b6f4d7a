// What tests see of the stand-in for libroformer_cuda.so (plugin.cpp).
#pragma once

#include <string>
#include <vector>

namespace roformer {

struct NcclCall {
  std::string what;  // "allreduce Float 4096": the operation, and type and count of what is sent
  bool waited = false;
};

enum class NcclFailure { none, at_once, later };

struct NcclStubRank {
  std::vector<NcclCall> calls;
  std::size_t fails_at = 0;  // the number of the call that fails, from 0
  NcclFailure failure = NcclFailure::none;
};

inline constexpr const char* kNcclStubRankName = "roformer_nccl_stub_rank";
using NcclStubRankFunction = NcclStubRank& (*)(int rank);

}  // namespace roformer
