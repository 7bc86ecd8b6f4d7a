#include "tensor/attention_record.h"

#include <c10/core/GradMode.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace roformer {
namespace {

constexpr std::array kUses = {"flash",    "cudnn",  "tiles", "running_sums",
                              "libtorch", "scores", "linear"};
constexpr unsigned kRounded = 1U << kUses.size();

std::atomic<unsigned> noted = 0;  // a bit for each use, and kRounded

}  // namespace

void note_attention(AttentionUse use, const at::Tensor& query, bool rounded) {
  if (!c10::GradMode::is_enabled() || !query.requires_grad()) return;
  const unsigned bits = (1U << static_cast<unsigned>(use)) | (rounded ? kRounded : 0U);
  if ((noted.load(std::memory_order_relaxed) & bits) != bits) noted |= bits;
}

AttentionRecord take_attention_record() {
  const unsigned bits = noted.exchange(0);
  AttentionRecord record;
  for (std::size_t use = 0; use < kUses.size(); ++use) {
    if ((bits >> use & 1U) == 0) continue;
    record.forward.emplace_back(kUses.at(use));
  }
  if (!record.forward.empty()) record.gradient = (bits & kRounded) != 0 ? "fast" : "exact";
  return record;
}

}  // namespace roformer
