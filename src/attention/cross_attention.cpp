#include "attention/cross_attention.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "attention/explicit_scores.h"
#include "attention/sdpa_attention.h"
#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/attention_record.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// Neighbours share a call as long as the padded block is at most this much larger than its tokens.
constexpr double kPadding = 1.5;

// Whether one more sequence fits into a block of some.
struct BlockSize {
  std::int64_t sequences = 0, tokens = 0, longest = 0;

  BlockSize with(std::int64_t length) const {
    return {sequences + 1, tokens + length, std::max(longest, length)};
  }
  bool dense() const {
    return static_cast<double>(sequences * longest) <= kPadding * static_cast<double>(tokens);
  }
};

// The positions of `count` queries: those given, or several times those given.
Positions repeated(const Positions& positions, std::int64_t count) {
  if (count == positions.count()) return positions;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(positions[i % positions.count()]);
  return Positions::of(std::move(values));
}

// [B, L, parts * H * D] -> a part as [B, H, L, D].
at::Tensor heads_of(const at::Tensor& packed, std::int64_t parts, std::int64_t part,
                    std::int64_t heads) {
  return packed.view({packed.size(0), packed.size(1), parts, heads, -1})
      .select(2, part)
      .transpose(1, 2);
}

}  // namespace

CrossMemory::CrossMemory(const TokenLayout& memory, const TokenLayout& queries) {
  const std::vector<std::int64_t> memory_lengths = sequence_lengths(memory.blocks);
  const std::vector<std::int64_t> query_lengths = sequence_lengths(queries.blocks);
  ROFORMER_ASSERT(memory_lengths.size() == query_lengths.size());
  for (std::size_t begin = 0, end = 0; begin < memory_lengths.size(); begin = end) {
    BlockSize keys, asking;
    for (; end < memory_lengths.size(); ++end) {
      const BlockSize more_keys = keys.with(memory_lengths[end]);
      const BlockSize more_asking = asking.with(query_lengths[end]);
      if (end > begin && !(more_keys.dense() && more_asking.dense())) break;
      keys = more_keys;
      asking = more_asking;
    }
    groups_.push_back(
        {.memory = PaddedBlock::of_lengths(std::span(memory_lengths).subspan(begin, end - begin)),
         .queries = PaddedBlock::of_lengths(std::span(query_lengths).subspan(begin, end - begin))});
  }
  AttentionSegment next;
  for (std::size_t i = 0; i < memory_lengths.size(); ++i) {
    next.query_length = query_lengths[i];
    next.key_length = memory_lengths[i];
    segments_.push_back(next);
    next.query_begin += next.query_length;
    next.key_begin += next.key_length;
  }
}

CrossMemory::CrossMemory(const TokenLayout& memory) {
  groups_.push_back({.memory = PaddedBlock::of_lengths(sequence_lengths(memory.blocks))});
  sequence_of_row_.resize(static_cast<std::size_t>(groups_[0].memory.sequences));
  std::iota(sequence_of_row_.begin(), sequence_of_row_.end(), 0);
}

void CrossMemory::hide_padding(Group& group, const at::TensorOptions& options) const {
  group.mask = padding_mask(group.memory);
  group.additive = at::Tensor();
  if (!group.mask.defined()) return;
  group.mask = on_device(group.mask, options.device());
  group.additive =
      at::zeros(group.mask.sizes(), options)
          .masked_fill(group.mask.logical_not(), -std::numeric_limits<double>::infinity());
}

void CrossMemory::add_layer(const at::Tensor& packed, std::int64_t heads,
                            const PositionScheme& scheme, at::ScalarType table_type) {
  if (!decoding()) {
    if (packed_.empty()) {
      for (Group& group : groups_) hide_padding(group, packed.options().requires_grad(false));
    }
    packed_.push_back(packed);
    return;
  }
  Group& group = groups_[0];
  if (group.layers.empty()) hide_padding(group, packed.options().requires_grad(false));
  group.layers.push_back(keys_and_values(group, packed, heads, scheme, table_type));
}

KeyValue CrossMemory::keys_and_values(const Group& group, const at::Tensor& rows,
                                      std::int64_t heads, const PositionScheme& scheme,
                                      at::ScalarType table_type) const {
  const at::Tensor block = padded(rows, group.memory);
  KeyValue layer{.key = heads_of(block, 2, 0, heads), .value = heads_of(block, 2, 1, heads)};
  const Positions positions = Positions::range(0, group.memory.length);
  const AttentionContext context{
      .queries = positions, .keys = positions, .type = table_type, .device = rows.device()};
  if (const auto rotation = scheme.rotation(context, layer.key.size(3))) {
    layer.key = rotated(layer.key, rotation->key);
    if (rotation->value) layer.value = rotated(layer.value, rotation->key);
  }
  return layer;
}

std::vector<KeyValue> CrossMemory::layer(const CrossAttentionInputs& in) const {
  const auto number = static_cast<std::size_t>(in.layer);
  if (decoding()) return {groups_[0].layers.at(number)};
  std::vector<std::int64_t> tokens;
  for (const Group& group : groups_) tokens.push_back(group.memory.tokens);
  const std::vector<at::Tensor> rows = borrowed(packed_.at(number)).split_with_sizes(tokens, 0);
  std::vector<KeyValue> result;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    result.push_back(keys_and_values(groups_[i], rows[i], in.heads, in.scheme, in.type));
  }
  return result;
}

bool CrossMemory::can_tile(const CrossAttentionInputs& in) const {
  const std::int64_t head_width = in.query.size(1) / in.heads;
  if (decoding() || in.dropout.probability > 0 || !can_tile_attention(in.query, head_width)) {
    return false;
  }
  const Positions first = Positions::range(0, 1);
  return !in.scheme.rotation({.queries = first, .keys = first, .type = in.type}, head_width);
}

at::Tensor CrossMemory::tiled(const CrossAttentionInputs& in) const {
  const at::Tensor packed = borrowed(packed_.at(static_cast<std::size_t>(in.layer)));
  note_attention(AttentionUse::tiles, in.query);
  GradientRecorder recorder("attention/cross", {in.query, packed});
  const auto part = [](const at::Tensor& rows, std::int64_t which) {
    const std::int64_t width = rows.size(1) / 2;
    return rows.narrow(1, which * width, width);
  };
  const at::Tensor rows = packed.detach();
  const TiledAttention attention{.query = in.query.detach(),
                                 .key = part(rows, 0),
                                 .value = part(rows, 1),
                                 .segments = segments_,
                                 .heads = in.heads,
                                 .scale = in.scheme.score_scale(in.query.size(1) / in.heads)};
  const at::Tensor output = at::empty_like(attention.query);
  const at::Tensor logarithm = tiled_attention_forward(attention, output);
  return recorder.finish(
      output,
      [attention, rows, part, logarithm,
       held = output.detach()](const Gradients& gradients) -> Gradients {
        const at::Tensor to_query = at::empty_like(attention.query), to_rows = at::empty_like(rows);
        tiled_attention_backward(
            attention, held, logarithm, gradients[0].contiguous(),
            {.query = to_query, .key = part(to_rows, 0), .value = part(to_rows, 1)});
        return {to_query, to_rows};
      });
}

void CrossMemory::reorder(std::span<const std::int64_t> rows) {
  ROFORMER_ASSERT(!sequence_of_row_.empty() && !rows.empty());
  std::vector<std::int64_t> sequences;  // of runs of rows
  std::vector<std::int64_t> next;
  for (const std::int64_t row : rows) {
    const std::int64_t sequence = sequence_of_row_.at(static_cast<std::size_t>(row));
    if (sequences.empty() || sequences.back() != sequence) sequences.push_back(sequence);
    next.push_back(static_cast<std::int64_t>(sequences.size()) - 1);
  }
  sequence_of_row_ = std::move(next);
  std::vector<std::int64_t> all(static_cast<std::size_t>(groups_[0].memory.sequences));
  std::iota(all.begin(), all.end(), 0);
  if (sequences != all) select(sequences);
}

void CrossMemory::select(std::span<const std::int64_t> sequences) {
  Group& group = groups_[0];
  const std::vector<std::int64_t> lengths = sequence_lengths(group.memory.parts);
  std::vector<std::int64_t> chosen;
  for (const std::int64_t sequence : sequences) {
    chosen.push_back(lengths[static_cast<std::size_t>(sequence)]);
  }
  group.memory = PaddedBlock::of_lengths(chosen);
  for (KeyValue& layer : group.layers) {
    for (at::Tensor* const part : {&layer.key, &layer.value}) {
      const at::Tensor index =
          at::tensor(at::IntArrayRef(sequences.data(), sequences.size()), at::kLong);
      *part = at::index_select(part->narrow(2, 0, group.memory.length), 0,
                               on_device(index, part->device()));
    }
  }
  hide_padding(group, group.layers.front().key.options());
}

at::Tensor CrossMemory::attend(const CrossAttentionInputs& in) const {
  if (can_tile(in)) return tiled(in);
  const std::vector<KeyValue> memory = layer(in);
  std::vector<PaddedBlock> queries;
  if (!decoding()) {
    for (const Group& group : groups_) queries.push_back(group.queries);
  } else {
    const auto rows = static_cast<std::int64_t>(sequence_of_row_.size());
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(groups_[0].memory.sequences), 0);
    for (const std::int64_t sequence : sequence_of_row_) {
      lengths[static_cast<std::size_t>(sequence)] += in.query.size(0) / rows;
    }
    queries.push_back(PaddedBlock::of_lengths(lengths));
  }
  std::vector<std::int64_t> tokens;
  for (const PaddedBlock& block : queries) tokens.push_back(block.tokens);
  const std::vector<at::Tensor> parts = in.query.split_with_sizes(tokens, 0);
  std::vector<at::Tensor> outputs;
  CrossAttentionInputs group_inputs = in;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const at::Tensor query = heads_of(padded(parts[i], queries[i]), 1, 0, in.heads);
    const at::Tensor output = attend(groups_[i], memory[i], queries[i], group_inputs, query);
    group_inputs.dropout.first_row += query.size(0) * query.size(1) * query.size(2);
    outputs.push_back(
        unpadded(output.transpose(1, 2).reshape({output.size(0), output.size(2), -1}), queries[i]));
  }
  return outputs.size() == 1 ? outputs[0] : at::cat(outputs, 0);
}

std::vector<at::Tensor> CrossMemory::mean_probabilities(const CrossAttentionInputs& in) const {
  ROFORMER_ASSERT(!decoding());
  const std::vector<KeyValue> memory = layer(in);
  std::vector<std::int64_t> tokens;
  for (const Group& group : groups_) tokens.push_back(group.queries.tokens);
  const std::vector<at::Tensor> parts = in.query.split_with_sizes(tokens, 0);
  std::vector<at::Tensor> result;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    at::Tensor query = heads_of(padded(parts[i], group.queries), 1, 0, in.heads);
    if (const auto rotation = in.scheme.rotation(
            context_of(group, group.queries, in, query.device()), query.size(3))) {
      query = rotated(query, rotation->query);
    }
    at::Tensor scores = content_scores(query, memory[i].key, in.scheme.score_scale(query.size(3)));
    if (scores.scalar_type() != at::kDouble) scores = scores.to(at::kFloat);
    if (group.mask.defined()) {
      scores =
          scores.masked_fill(group.mask.logical_not(), -std::numeric_limits<double>::infinity());
    }
    const at::Tensor mean = at::softmax(scores, -1).mean(1);  // [B, Lq, Lk]
    const std::vector<std::int64_t> asking = sequence_lengths(group.queries.parts);
    const std::vector<std::int64_t> keys = sequence_lengths(group.memory.parts);
    for (std::size_t k = 0; k < asking.size(); ++k) {
      result.push_back(
          mean[static_cast<std::int64_t>(k)].narrow(0, 0, asking[k]).narrow(1, 0, keys[k]));
    }
  }
  return result;
}

AttentionContext CrossMemory::context_of(const Group& group, const PaddedBlock& queries,
                                         const CrossAttentionInputs& in, at::Device device) const {
  return {.queries = repeated(in.positions, queries.length),
          .keys = Positions::range(0, group.memory.length),
          .layer = in.layer,
          .training = in.training,
          .mask = group.mask,
          .type = in.type,
          .device = device};
}

// query [B, H, Lq, D] -> the same shape.
at::Tensor CrossMemory::attend(const Group& group, const KeyValue& memory,
                               const PaddedBlock& queries, const CrossAttentionInputs& in,
                               const at::Tensor& query) const {
  const AttentionContext context = context_of(group, queries, in, query.device());
  if (in.dropout.probability > 0 || (runs_loops(query) && !decoding())) {
    const AttentionSettings plain;
    return roformer::attend({.query = query,
                             .key = memory.key,
                             .value = memory.value,
                             .scheme = in.scheme,
                             .attention = plain,
                             .context = context,
                             .dropout = in.dropout,
                             .keys = CachedKeys::rotated})
        .output;
  }
  const auto rotation = in.scheme.rotation(context, query.size(3));
  return sdpa_attention({.query = rotation ? rotated(query, rotation->query) : query,
                         .key = memory.key,
                         .value = memory.value,
                         .additive = group.additive,
                         .scale = in.scheme.score_scale(query.size(3)),
                         .exact_gradient = in.exact_gradient});
}

}  // namespace roformer
