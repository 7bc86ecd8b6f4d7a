// One state for each text: what classifiers and embedders read from an encoder. B texts, T tokens,
// M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

#include "config/classification_settings.h"
#include "data/text_pairs.h"
#include "model/transformer_stack.h"
#include "tasks/shared_batches.h"
#include "tensor/device.h"
#include "tensor/parameters.h"
#include "training/distributed/processes.h"
#include "training/task.h"

namespace roformer {

struct PooledEncoder {
  const TransformerStack& stack;
  const ParameterStore& parameters;
  const ComputePlan& plan;
  TextPooling pooling = TextPooling::first;
};

// The first token's state, or the mean of all states, of each text: [B, M] on the device, with a
// graph.
at::Tensor pooled_states(const PooledEncoder& encoder, const TextBatch& batch,
                         const ForwardMode& mode);

// Computes outputs [B, columns] of a batch of texts.
using ComputeTexts = std::function<at::Tensor(const TextBatch& batch)>;

// The outputs of all texts in their order, [N, columns] float on the CPU, without a graph. Texts of
// similar length are computed together, each batch on one of the processes.
at::Tensor outputs_of_texts(std::span<const EncodedText> texts, std::int64_t columns,
                            const ComputeTexts& compute, Processes& processes,
                            const WorkProgress& progress = {});

}  // namespace roformer
