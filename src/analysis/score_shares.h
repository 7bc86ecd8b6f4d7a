// Measures how much the scores of attention depend on the contents of query and key, their
// positions, or both.
//
// The score of a head is a function s(x, y, i, j) of the content x of the query, the content y of
// the key and their positions i and j. Draw x and y independently from the tokens of real texts,
// whatever their positions there (shuffled contents), and the pair (i, j) evenly from the visible
// pairs. Leave out the part that is equal for all keys of a query, E[s | x, i], since the softmax
// does not see it. The analysis of variance (Hoeffding 1948, Sobol 1993) splits the variance of the
// rest without remainder. With <f>_y the mean over y, and so on:
//
//   position-position  P(i,j)    = <s>_xy - the mean of that over the row's visible keys
//   content-position   X(x;i,j)  = <s>_y - <s>_xy - the mean of that over the row's visible keys
//   position-content   Y(y;i,j)  = <s>_x - <s>_x,ij - <s>_xy + <s>
//   content-content    C(x,y)    = <s>_ij - <s>_y,ij: the contents' part at all positions
//   interaction        I         = s - E[s | x, i] - P - X - Y - C: the part of the product of two
//                                  contents that depends on both positions
//
// If a score is a sum a(x, y) + b(x, i, j) + c(y, i, j) + d(i, j) (Transformer-XL, TUPE, DeBERTa,
// biases, tables added to the embedding), the four shares are those of its terms and the
// interaction is 0; the tests compare with that. For a rotation q R_ij k, most of the variance is
// interaction.
//
// The means are over m query contents times m key contents at all visible pairs. The estimates are
// corrected for the small m (expected mean squares of the crossed random design, Searle 1971) and
// averaged over the groups of contents. The differences between groups give the standard errors
// (the jackknife, Quenouille 1956: each group left out once). A scheme that counts tokens by their
// content gets y at every position. H heads, L length, D head width, F token inputs of a head, N
// contents.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

struct ScoreInputs {
  const PositionScheme& scheme;  // of the layer
  const AttentionSettings& attention;
  AttentionContext context;  // L queries and keys, of one sequence; with its mask
  // The contents, without the part that their positions add.
  at::Tensor query;             // [N, H, D], before rotation
  at::Tensor key;               // [N, H, D]
  at::Tensor key_token_inputs;  // [N, H, F] of schemes with token inputs
  // The part of queries and keys that positions add: [H, L, D], or undefined.
  at::Tensor query_positions, key_positions;
  std::int64_t groups = 1;  // N = groups * m, m > 1
};

// One head's shares of the variance, which sum to 1; NaN if the scores do not vary.
struct ScoreShares {
  double content_content = 0;
  double content_position = 0;
  double position_content = 0;
  double position_position = 0;
  double interaction = 0;
  double deviation = 0;  // the root of the variance, of what the softmax sees of the scores

  // Standard errors of the shares over the groups of contents; NaN for one group.
  struct Errors {
    double content_content = std::numeric_limits<double>::quiet_NaN();
    double content_position = content_content;
    double position_content = content_content;
    double position_position = content_content;
    double interaction = content_content;
    double of_positions = content_content;
  };
  Errors errors = {};

  double of_positions() const {
    return content_position + position_content + position_position + interaction;
  }
};

// The five parts, in the order of the tables.
struct SharePart {
  const char* key;    // "content_position", in CSV and JSON
  const char* title;  // "content-position"
  double ScoreShares::*share;
  double ScoreShares::Errors::*error;
};
inline constexpr std::array<SharePart, 5> kShareParts{
    {{"content_content", "content-content", &ScoreShares::content_content,
      &ScoreShares::Errors::content_content},
     {"content_position", "content-position", &ScoreShares::content_position,
      &ScoreShares::Errors::content_position},
     {"position_content", "position-content", &ScoreShares::position_content,
      &ScoreShares::Errors::position_content},
     {"position_position", "position-position", &ScoreShares::position_position,
      &ScoreShares::Errors::position_position},
     {"interaction", "interaction", &ScoreShares::interaction, &ScoreShares::Errors::interaction}}};

std::vector<ScoreShares> score_shares(const ScoreInputs& inputs);

}  // namespace roformer
