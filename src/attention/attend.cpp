#include "attention/attend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <limits>

namespace roformer {

Attended attend(const AttendInputs& in, bool with_scores) {
  const double scale = in.scheme.score_scale(in.query.size(-1));
  at::Tensor query = in.query, key = in.key, value = in.value;
  if (const auto turn = in.scheme.turn(in.place, in.query.size(-1))) {
    query = rotated(query, turn->query);
    key = rotated(key, turn->key);
    if (turn->value) value = rotated(value, turn->key);
  }
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale;
  if (in.scheme.has_content_scores()) {
    scores = in.scheme.scores(in.place, {.query = query,
                                         .key = key,
                                         .raw_query = in.query,
                                         .raw_key = in.key,
                                         .scores = scores,
                                         .scale = scale});
  }
  if (in.bias.defined()) scores = scores + in.bias;
  Attended result;
  if (with_scores) result.scores = scores;
  at::Tensor probabilities;
  if (in.place.mask.defined()) {
    const at::Tensor hidden = in.place.mask.logical_not();
    probabilities =
        at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1);
    probabilities = probabilities.masked_fill(hidden, 0);
  } else {
    probabilities = at::softmax(scores, -1);
  }
  if (in.dropout.probability > 0) {
    probabilities = dropout(probabilities.flatten(0, -2), in.dropout).view_as(probabilities);
  }
  result.output = at::matmul(probabilities, value);
  if (in.scheme.has_value_term()) {
    result.output = result.output + in.scheme.value_term(in.place, probabilities);
  }
  return result;
}

}  // namespace roformer
