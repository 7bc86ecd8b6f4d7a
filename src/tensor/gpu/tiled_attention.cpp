#include "tensor/gpu/tiled_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/launch.h"
#include "tensor/on_device.h"

namespace roformer::gpu {
namespace {

constexpr std::int64_t kWidest = 128, kWidthMultiple = 16;

bool by_difference(const at::Tensor& additive) {
  return additive.dim() == 2;
}

std::int64_t tiles_of(std::int64_t length) {
  return (length + kTileRows - 1) / kTileRows;
}

template <typename T>
std::int64_t count(const std::vector<T>& list) {
  return static_cast<std::int64_t>(list.size());
}

// Lists of structures that go to the device in one copy.
class Lists {
 public:
  // Adds to the list and returns its offset.
  template <typename T>
  std::size_t add(const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);  // all stay aligned
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + list.size() * sizeof(T));
    if (!list.empty()) std::memcpy(bytes_.data() + begin, list.data(), list.size() * sizeof(T));
    return begin;
  }
  void copy_to(at::Device device) {
    const at::Tensor host = at::empty({count(bytes_)}, at::kByte);
    std::memcpy(host.mutable_data_ptr(), bytes_.data(), bytes_.size());
    device_ = on_device(host, device);
  }
  template <typename T>
  const T* at(std::size_t begin) const {
    return reinterpret_cast<const T*>(device_.const_data_ptr<std::uint8_t>() + begin);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  at::Tensor device_;
};

// The first row and the stride of rows of tokens. LibTorch leaves the stride of a single row open.
struct Rows {
  c10::BFloat16* data;
  std::int64_t row;

  explicit Rows(const at::Tensor& view)
      : data(static_cast<c10::BFloat16*>(view.data_ptr())),
        row(view.size(0) > 1 ? view.stride(0) : 0) {
    ROFORMER_ASSERT(view.dim() == 2 && view.stride(1) == 1 && view.scalar_type() == at::kBFloat16);
    // A thread copies 16 bytes at once.
    ROFORMER_ASSERT(reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && row % 8 == 0);
  }
};

constexpr std::int64_t bytes_of_row(std::int64_t width) {
  return (width + 8) * 2;
}

// Shared memory of a block with a tile of pairs.
constexpr std::int64_t pair_bytes(std::int64_t width) {
  return 2 * (2 * kTileRows + 2 * pair_keys(width)) * bytes_of_row(width);
}

constexpr bool pairs_fit() {
  for (std::int64_t width = kWidthMultiple; width <= kWidest; width += kWidthMultiple) {
    if (pair_bytes(width) > kLeastSharedMemory) return false;
  }
  return true;
}
static_assert(pairs_fit());

// The lists that the kernels read, and their launches.
class Plan {
 public:
  // `gradients` of the additives, for a backward pass. Undefined ones are not computed.
  Plan(const TiledAttention& in, const std::vector<at::Tensor>& gradients, bool backward)
      : in_(in), device_(in.query.device()), gradients_(gradients) {
    list_tables();
    list_texts();
    if (backward) {
      list_key_tiles();
      list_pairs();
    }
    const std::size_t tables = lists_.add(tables_), texts = lists_.add(texts_),
                      query_tiles = lists_.add(query_tiles_), key_tiles = lists_.add(key_tiles_),
                      pairs = lists_.add(pairs_);
    lists_.copy_to(device_);
    tables_on_device_ = lists_.at<AttentionTable>(tables);
    work_.texts = lists_.at<AttentionText>(texts);
    work_.tiles = query_tiles_on_device_ = lists_.at<AttentionTile>(query_tiles);
    key_tiles_on_device_ = lists_.at<AttentionTile>(key_tiles);
    work_.pairs = lists_.at<AttentionPairTile>(pairs);
    if (!tables_.empty()) find_windows();
  }

  void forward(const at::Tensor& output, const at::Tensor& logarithm) {
    describe(output, logarithm);
    start("attention_forward", tiles_on_queries(), shared(1, 2));
  }

  void backward(const at::Tensor& output, const at::Tensor& logarithm,
                const at::Tensor& output_gradient, const TiledAttentionGradients& gradients) {
    describe(output, logarithm);
    const Rows gradient(output_gradient);
    work_.output_gradient = gradient.data;
    work_.output_gradient_row = gradient.row;
    const at::Tensor shift = at::empty_like(logarithm);
    work_.shift = shift.mutable_data_ptr<float>();
    const Rows to_query(gradients.query), to_key(gradients.key), to_value(gradients.value);
    work_.query_gradient = to_query.data;
    work_.query_gradient_row = to_query.row;
    const at::Tensor differences =
        at::zeros({differences_}, at::TensorOptions().dtype(at::kFloat).device(device_));
    work_.differences = differences.mutable_data_ptr<float>();
    const std::int64_t slopes =
        added_ == kAddsTable ? kTileRows * (streamed_rows(width()) + kSlopePadding) * 4 : 0;
    start("attention_query_gradient", tiles_on_queries(), shared(2, 2) + slopes);
    if (differences_ > 0) add_differences(differences);
    launch_on_heads(fmt::format("attention_pair_gradient<{}>", width()), count(pairs_),
                    pair_bytes(width()));

    work_.tiles = key_tiles_on_device_;
    work_.key_gradient = to_key.data;
    work_.key_gradient_row = to_key.row;
    work_.value_gradient = to_value.data;
    work_.value_gradient_row = to_value.row;
    start("attention_key_gradient", count(key_tiles_), shared(2, 2));
  }

 private:
  const TiledAttention& in_;
  at::Device device_;
  const std::vector<at::Tensor>& gradients_;
  int added_ = kAddsNothing;
  std::vector<AttentionTable> tables_;
  std::vector<std::int64_t> table_of_;  // of each additive, -1: it is of pairs
  std::vector<AttentionText> texts_;
  std::vector<AttentionTile> query_tiles_, key_tiles_;
  std::vector<AttentionPairTile> pairs_;
  std::int64_t differences_ = 0;  // numbers of all tiles' sums
  at::Tensor windows_;
  Lists lists_;
  const AttentionTable* tables_on_device_ = nullptr;
  const AttentionTile *query_tiles_on_device_ = nullptr, *key_tiles_on_device_ = nullptr;
  AttentionWork work_;

  std::int64_t width() const { return in_.query.size(1) / in_.heads; }
  std::int64_t row_bytes() const { return bytes_of_row(width()); }
  std::int64_t tiles_on_queries() const { return count(query_tiles_); }
  // The shared memory that SharedParts (sources/attention_tiles.h) hands out: tiles of own rows,
  // and stages of streamed rows.
  std::int64_t shared(std::int64_t tiles, std::int64_t stages) const {
    const std::int64_t rows = streamed_rows(width());
    return tiles * kTileRows * row_bytes() +
           stages * (2 * rows * row_bytes() + (kTileRows + 3 * rows) * 4);
  }

  // One block for each of `blocks` and each head of queries.
  void launch_on_heads(const std::string& kernel, std::int64_t blocks,
                       std::int64_t shared_bytes) const {
    launch({.source = "tiled_attention",
            .kernel = kernel,
            .blocks_x = blocks,
            .blocks_y = in_.heads,
            .threads = kTileThreads,
            .shared_bytes = shared_bytes,
            .values = {&work_}},
           device_);
  }
  void start(const char* kernel, std::int64_t blocks, std::int64_t shared_bytes) const {
    launch_on_heads(fmt::format("{}<{}, {}>", kernel, width(), added_), blocks, shared_bytes);
  }

  void describe(const at::Tensor& output, const at::Tensor& logarithm) {
    const Rows query(in_.query), key(in_.key), value(in_.value), to(output);
    work_.query = query.data;
    work_.query_row = query.row;
    work_.key = key.data;
    work_.key_row = key.row;
    work_.value = value.data;
    work_.value_row = value.row;
    work_.output = to.data;
    work_.output_row = to.row;
    work_.logarithm = logarithm.mutable_data_ptr<float>();
    work_.tokens = output.size(0);
    work_.sharing = in_.key_value_heads > 0 ? in_.heads / in_.key_value_heads : 1;
    work_.scale = static_cast<float>(in_.scale);
    work_.causal = in_.causal;
  }

  at::Tensor gradient_of(std::size_t additive) const {
    return gradients_.empty() ? at::Tensor() : gradients_[additive];
  }
  static float* numbers_of(const at::Tensor& gradient) {
    if (!gradient.defined()) return nullptr;
    ROFORMER_ASSERT(gradient.is_contiguous());
    return gradient.mutable_data_ptr<float>();
  }
  static std::int64_t head_stride(const at::Tensor& additive) {
    return additive.size(0) == 1 ? 0 : additive.stride(0);
  }

  void list_tables() {
    windows_ = at::empty({count(in_.additive), in_.heads, 2},
                         at::TensorOptions().dtype(at::kInt).device(device_));
    table_of_.assign(in_.additive.size(), -1);
    for (const AttentionSegment& segment : in_.segments) {
      if (segment.additive < 0) continue;
      const auto a = static_cast<std::size_t>(segment.additive);
      const at::Tensor& additive = in_.additive[a];
      if (!by_difference(additive) || table_of_[a] >= 0) continue;
      table_of_[a] = count(tables_);
      tables_.push_back(
          {.numbers = additive.const_data_ptr<float>(),
           .head = head_stride(additive),
           .query_length = segment.query_length,
           .key_length = segment.key_length,
           .windows = windows_.mutable_data_ptr<std::int32_t>() + segment.additive * in_.heads * 2,
           .gradient = numbers_of(gradient_of(a))});
    }
  }

  void list_texts() {
    for (const AttentionSegment& segment : in_.segments) {
      AttentionText text{.query_begin = segment.query_begin,
                         .query_length = segment.query_length,
                         .key_begin = segment.key_begin,
                         .key_length = segment.key_length};
      AttentionTable* table = nullptr;
      int added = kAddsNothing;
      if (segment.additive >= 0) {
        const auto a = static_cast<std::size_t>(segment.additive);
        if (table_of_[a] >= 0) table = &tables_[static_cast<std::size_t>(table_of_[a])];
        added = table == nullptr ? kAddsPairs : kAddsTable;
        add_additive(in_.additive[a], gradient_of(a), table, text);
      }
      ROFORMER_ASSERT(texts_.empty() || added == added_);  // one kernel for all
      added_ = added;
      list_query_tiles(text, table);
      texts_.push_back(text);
    }
  }

  static void add_additive(const at::Tensor& additive, const at::Tensor& gradient,
                           const AttentionTable* table, AttentionText& text) {
    text.additive = additive.const_data_ptr<float>();
    text.additive_head = head_stride(additive);
    if (table == nullptr) {
      text.additive_row = additive.stride(1);
      text.gradient = numbers_of(gradient);
      return;
    }
    ROFORMER_ASSERT(table->query_length == text.query_length &&
                    table->key_length == text.key_length);
    text.additive += text.query_length - 1;
    text.windows = table->windows;
  }

  // Tiles whose sums go to one table are neighbours.
  void list_query_tiles(const AttentionText& text, AttentionTable* table) {
    const bool summed = table != nullptr && table->gradient != nullptr;
    const std::int64_t tiles = tiles_of(text.query_length);
    if (table != nullptr) {
      if (table->tiles == 0) table->tile = count(query_tiles_);
      ROFORMER_ASSERT(table->tile + table->tiles == count(query_tiles_));
      table->tiles += tiles;
    }
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      query_tiles_.push_back({.text = count(texts_),
                              .first = tile * kTileRows,
                              .differences = summed ? differences_ : -1});
      if (summed) differences_ += in_.heads * (text.key_length + kTileRows - 1);
    }
  }

  void list_key_tiles() {
    for (std::int64_t t = 0; t < count(texts_); ++t) {
      const std::int64_t length = texts_[static_cast<std::size_t>(t)].key_length;
      for (std::int64_t first = 0; first < length; first += kTileRows) {
        key_tiles_.push_back({.text = t, .first = first});
      }
    }
  }

  // Texts that share numbers for pairs are neighbours: a block sums their gradient.
  void list_pairs() {
    std::vector<const float*> listed;
    for (std::size_t begin = 0, end = 0; begin < texts_.size(); begin = end) {
      end = begin + 1;
      const AttentionText& text = texts_[begin];
      if (text.gradient == nullptr) continue;
      ROFORMER_ASSERT(std::ranges::find(listed, text.gradient) == listed.end());
      listed.push_back(text.gradient);
      while (end < texts_.size() && texts_[end].gradient == text.gradient) ++end;
      for (std::int64_t query = 0; query < text.query_length; query += kTileRows) {
        for (std::int64_t key = 0; key < text.key_length; key += pair_keys(width())) {
          pairs_.push_back({.text = static_cast<std::int64_t>(begin),
                            .texts = static_cast<std::int64_t>(end - begin),
                            .query = query,
                            .key = key});
        }
      }
    }
  }

  // Finds the keys that tables hide at their ends.
  void find_windows() {
    launch({.source = "tiled_attention",
            .kernel = "attention_windows",
            .blocks_x = in_.heads,
            .blocks_y = count(tables_),
            .threads = kTileThreads,
            .values = {&tables_on_device_}},
           device_);
  }

  void add_differences(const at::Tensor& sums) const {
    const float* const data = sums.const_data_ptr<float>();
    std::int64_t longest = 0;
    for (const AttentionTable& table : tables_) {
      longest = std::max(longest, table.query_length + table.key_length - 1);
    }
    launch({.source = "tiled_attention",
            .kernel = "attention_difference_sums",
            .blocks_x = (longest + kTileThreads - 1) / kTileThreads,
            .blocks_y = count(tables_) * in_.heads,
            .threads = kTileThreads,
            .values = {&tables_on_device_, &in_.heads, &query_tiles_on_device_, &data}},
           device_);
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
  Plan(in, no_gradients, false).forward(output, logarithm);
  return logarithm;
}

void tiled_attention_backward(const TiledAttention& in, const at::Tensor& output,
                              const at::Tensor& logarithm, const at::Tensor& output_gradient,
                              const TiledAttentionGradients& gradients) {
  Plan(in, gradients.additive, true).backward(output, logarithm, output_gradient, gradients);
}

}  // namespace roformer::gpu
