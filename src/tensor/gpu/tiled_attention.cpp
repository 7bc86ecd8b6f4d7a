#include "tensor/gpu/tiled_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/launch.h"
#include "tensor/on_device.h"

namespace roformer::gpu {
namespace {

constexpr std::int64_t kWidest = 128, kWidthMultiple = 16;

bool by_difference(const at::Tensor& additive) {
  return additive.dim() == 2;
}

// A list of structures on the device.
template <typename T>
at::Tensor on_device(std::vector<T>& list, at::Device device) {
  const auto bytes = static_cast<std::int64_t>(list.size() * sizeof(T));
  return roformer::on_device(at::from_blob(list.data(), {bytes}, at::kByte).clone(), device);
}
template <typename T>
const T* list_of(const at::Tensor& bytes) {
  return reinterpret_cast<const T*>(bytes.const_data_ptr());
}

std::int64_t tiles_of(std::int64_t length) {
  return (length + kTileRows - 1) / kTileRows;
}

template <typename T>
T* rows(const at::Tensor& view) {
  ROFORMER_ASSERT(view.dim() == 2 && view.stride(1) == 1 && view.scalar_type() == at::kBFloat16);
  T* const data = static_cast<T*>(view.data_ptr());
  // What a thread copies at once.
  ROFORMER_ASSERT(reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && view.stride(0) % 8 == 0);
  return data;
}

// What the kernels read besides rows of tokens, on the device.
class Plan {
 public:
  Plan(const TiledAttention& in, const std::vector<at::Tensor>& gradients)
      : in_(in), device_(in.query.device()), gradients_(gradients) {
    list_tables();
    list_texts();
    texts_on_device_ = on_device(texts_, device_);
    query_tiles_on_device_ = on_device(query_tiles_, device_);
  }

  AttentionWork work(const at::Tensor& output, const at::Tensor& logarithm) const {
    return {.texts = list_of<AttentionText>(texts_on_device_),
            .tiles = list_of<AttentionTile>(query_tiles_on_device_),
            .query = rows<const c10::BFloat16>(in_.query),
            .key = rows<const c10::BFloat16>(in_.key),
            .value = rows<const c10::BFloat16>(in_.value),
            .query_row = in_.query.stride(0),
            .key_row = in_.key.stride(0),
            .value_row = in_.value.stride(0),
            .output = rows<c10::BFloat16>(output),
            .output_row = output.stride(0),
            .logarithm = logarithm.mutable_data_ptr<float>(),
            .tokens = output.size(0),
            .sharing = in_.key_value_heads > 0 ? in_.heads / in_.key_value_heads : 1,
            .scale = static_cast<float>(in_.scale),
            .causal = in_.causal};
  }

  // Blocks over x, and one for each head over y. `shared_rows` of kTileRows, with or without what
  // streams past in two stages and the slopes by difference.
  struct Blocks {
    std::int64_t count = 0;
    std::int64_t shared_bytes = 0;
  };
  Blocks on_queries() const { return {tile_count(query_tiles_), shared(1, 2, false)}; }
  Blocks on_queries_with_slopes() const { return {tile_count(query_tiles_), shared(2, 2, true)}; }
  Blocks on_keys() const { return {tile_count(key_tiles_), shared(2, 2, false)}; }
  Blocks on_pairs() const {
    return {static_cast<std::int64_t>(pairs_.size()), shared(2, 1, false)};
  }
  Blocks on_tokens(std::int64_t tokens) const {
    constexpr std::int64_t kWarps = kTileThreads / 32;
    return {(tokens + kWarps - 1) / kWarps, 0};
  }

  void start(const char* kernel, const Blocks& blocks, const AttentionWork& work) const {
    launch({.source = "tiled_attention",
            .kernel = fmt::format("{}<{}>", kernel, width()),
            .blocks_x = blocks.count,
            .blocks_y = in_.heads,
            .threads = kTileThreads,
            .shared_bytes = blocks.shared_bytes,
            .values = {&work}},
           device_);
  }

  // Tiles of keys, and those of pairs, whose lists only a backward pass needs.
  at::Tensor key_tiles() {
    for (std::size_t t = 0; t < texts_.size(); ++t) {
      for (std::int64_t tile = 0; tile < tiles_of(texts_[t].key_length); ++tile) {
        key_tiles_.push_back({.text = static_cast<std::int64_t>(t), .first = tile * kTileRows});
      }
    }
    return on_device(key_tiles_, device_);
  }
  at::Tensor pairs() {
    for (std::size_t begin = 0, end = 0; begin < texts_.size(); begin = end) {
      end = begin + 1;
      const AttentionText& text = texts_[begin];
      if (text.gradient == nullptr) continue;
      while (end < texts_.size() && texts_[end].gradient == text.gradient) ++end;
      for (std::int64_t query = 0; query < text.query_length; query += kTileRows) {
        for (std::int64_t key = 0; key < text.key_length; key += streamed()) {
          pairs_.push_back({.text = static_cast<std::int64_t>(begin),
                            .texts = static_cast<std::int64_t>(end - begin),
                            .query = query,
                            .key = key});
        }
      }
    }
    return on_device(pairs_, device_);
  }

  // For the sums by difference of all tiles; undefined where none is wanted.
  at::Tensor room_for_differences() const {
    if (differences_ == 0) return {};
    return at::zeros({differences_}, at::TensorOptions().dtype(at::kFloat).device(device_));
  }
  void add_differences(const at::Tensor& sums) const {
    const float* const data = sums.const_data_ptr<float>();
    const auto* const tiles = list_of<AttentionTile>(query_tiles_on_device_);
    for (const AttentionTable& table : tables_) {
      if (table.gradient == nullptr) continue;
      const std::int64_t count = table.query_length + table.key_length - 1;
      launch({.source = "tiled_attention",
              .kernel = "attention_difference_sums",
              .blocks_x = (count + kTileThreads - 1) / kTileThreads,
              .blocks_y = in_.heads,
              .threads = kTileThreads,
              .values = {&table, &tiles, &data}},
             device_);
    }
  }

 private:
  const TiledAttention& in_;
  at::Device device_;
  const std::vector<at::Tensor>& gradients_;  // of the additives; empty, or undefined: not wanted
  std::vector<AttentionTable> tables_;
  std::vector<std::int64_t> table_of_;  // of each additive, -1: it is of pairs
  std::vector<AttentionText> texts_;
  std::vector<AttentionTile> query_tiles_, key_tiles_;
  std::vector<AttentionPairTile> pairs_;
  std::int64_t differences_ = 0;
  at::Tensor windows_, texts_on_device_, query_tiles_on_device_;

  static std::int64_t tile_count(const std::vector<AttentionTile>& tiles) {
    return static_cast<std::int64_t>(tiles.size());
  }
  std::int64_t width() const { return in_.query.size(1) / in_.heads; }
  // As kStreamed and Stage of sources/tiled_attention.cu.
  std::int64_t streamed() const { return width() > 64 ? 32 : 64; }
  std::int64_t shared(std::int64_t tiles, std::int64_t stages, bool slopes) const {
    const std::int64_t row = (width() + 8) * 2, rows = streamed();
    const std::int64_t table = (kTileRows + rows) * 4, statistics = 2 * rows * 4;
    return tiles * kTileRows * row + stages * (2 * rows * row + table + statistics) +
           (slopes ? kTileRows * (rows + 1) * 4 : 0);
  }

  at::Tensor gradient_of(std::size_t additive) const {
    return gradients_.empty() ? at::Tensor() : gradients_[additive];
  }

  // Finds what tables by difference hide, on the device.
  void list_tables() {
    windows_ = at::empty({static_cast<std::int64_t>(in_.additive.size()), in_.heads, 2},
                         at::TensorOptions().dtype(at::kInt).device(device_));
    table_of_.assign(in_.additive.size(), -1);
    for (const AttentionSegment& segment : in_.segments) {
      if (segment.additive < 0) continue;
      const auto a = static_cast<std::size_t>(segment.additive);
      const at::Tensor& additive = in_.additive[a];
      if (!by_difference(additive) || table_of_[a] >= 0) continue;
      table_of_[a] = static_cast<std::int64_t>(tables_.size());
      const at::Tensor gradient = gradient_of(a);
      tables_.push_back(
          {.numbers = additive.const_data_ptr<float>(),
           .head = additive.size(0) == 1 ? 0 : additive.stride(0),
           .query_length = segment.query_length,
           .key_length = segment.key_length,
           .windows = windows_.mutable_data_ptr<std::int32_t>() + segment.additive * in_.heads * 2,
           .gradient = gradient.defined() ? gradient.mutable_data_ptr<float>() : nullptr});
      ROFORMER_ASSERT(!gradient.defined() || gradient.is_contiguous());
    }
    if (tables_.empty()) return;
    const at::Tensor tables = on_device(tables_, device_);
    const auto* const data = list_of<AttentionTable>(tables);
    launch({.source = "tiled_attention",
            .kernel = "attention_windows",
            .blocks_x = in_.heads,
            .blocks_y = static_cast<std::int64_t>(tables_.size()),
            .threads = kTileThreads,
            .values = {&data}},
           device_);
  }

  void list_texts() {
    for (const AttentionSegment& segment : in_.segments) {
      AttentionText text{.query_begin = segment.query_begin,
                         .query_length = segment.query_length,
                         .key_begin = segment.key_begin,
                         .key_length = segment.key_length};
      AttentionTable* table = nullptr;
      if (segment.additive >= 0) {
        const auto a = static_cast<std::size_t>(segment.additive);
        if (table_of_[a] >= 0) table = &tables_[static_cast<std::size_t>(table_of_[a])];
        add_additive(in_.additive[a], gradient_of(a), table, text);
      }
      list_query_tiles(text, table);
      texts_.push_back(text);
    }
  }

  static void add_additive(const at::Tensor& additive, const at::Tensor& gradient,
                           const AttentionTable* table, AttentionText& text) {
    text.additive = additive.const_data_ptr<float>();
    text.additive_head = additive.size(0) == 1 ? 0 : additive.stride(0);
    if (table != nullptr) {
      text.additive += text.query_length - 1;
      text.additive_row = -1;
      text.windows = table->windows;
      return;
    }
    text.additive_row = additive.stride(1);
    if (!gradient.defined()) return;
    ROFORMER_ASSERT(gradient.is_contiguous());
    text.gradient = gradient.mutable_data_ptr<float>();
  }

  // Tiles whose sums go to one table stand one behind the other.
  void list_query_tiles(const AttentionText& text, AttentionTable* table) {
    const bool summed = table != nullptr && table->gradient != nullptr;
    const std::int64_t tiles = tiles_of(text.query_length);
    if (summed) {
      if (table->tiles == 0) table->tile = tile_count(query_tiles_);
      ROFORMER_ASSERT(table->tile + table->tiles == tile_count(query_tiles_));
      table->tiles += tiles;
    }
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      query_tiles_.push_back({.text = static_cast<std::int64_t>(texts_.size()),
                              .first = tile * kTileRows,
                              .differences = differences_});
      if (summed) differences_ += in_.heads * (text.key_length + kTileRows - 1);
    }
  }
};

}  // namespace

bool can_tile_attention(const at::Tensor& query, std::int64_t head_width) {
  constexpr int kLeastCapability = 80;
  return query.scalar_type() == at::kBFloat16 && head_width % kWidthMultiple == 0 &&
         head_width <= kWidest &&
         (query.is_cpu() || compute_capability(query.device()) >= kLeastCapability);
}

at::Tensor tiled_attention_forward(const TiledAttention& in, const at::Tensor& output) {
  const at::Tensor logarithm =
      at::empty({in.heads, output.size(0)}, output.options().dtype(at::kFloat));
  const std::vector<at::Tensor> no_gradients;
  const Plan plan(in, no_gradients);
  plan.start("attention_forward", plan.on_queries(), plan.work(output, logarithm));
  return logarithm;
}

void tiled_attention_backward(const TiledAttention& in, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients) {
  Plan plan(in, gradients.additive);
  AttentionWork work = plan.work(output, logarithm);
  ROFORMER_ASSERT(output_gradient.stride(0) == work.output_row);
  work.output_gradient = rows<const c10::BFloat16>(output_gradient);
  const at::Tensor shift = at::empty_like(logarithm);
  work.shift = shift.mutable_data_ptr<float>();
  plan.start("attention_shift", plan.on_tokens(work.tokens), work);

  work.query_gradient = rows<c10::BFloat16>(gradients.query);
  work.query_gradient_row = gradients.query.stride(0);
  const at::Tensor differences = plan.room_for_differences();
  if (differences.defined()) work.differences = differences.mutable_data_ptr<float>();
  plan.start("attention_query_gradient", plan.on_queries_with_slopes(), work);
  if (differences.defined()) plan.add_differences(differences);

  const at::Tensor pairs = plan.pairs();
  work.pairs = list_of<AttentionPairTile>(pairs);
  plan.start("attention_pair_gradient", plan.on_pairs(), work);

  const at::Tensor key_tiles = plan.key_tiles();
  work.tiles = list_of<AttentionTile>(key_tiles);
  work.key_gradient = rows<c10::BFloat16>(gradients.key);
  work.value_gradient = rows<c10::BFloat16>(gradients.value);
  work.key_gradient_row = gradients.key.stride(0);
  work.value_gradient_row = gradients.value.stride(0);
  plan.start("attention_key_gradient", plan.on_keys(), work);
}

}  // namespace roformer::gpu
