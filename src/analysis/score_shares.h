// What the scores of attention depend on: the contents of query and key, their positions, or both.
//
// The score of a head is a function s(x, y, i, j) of the content x of the query, the content y of
// the key and of where they stand. Let x and y be drawn from the tokens of real texts, each on its
// own and wherever they stood there (shuffled contents), and the pair (i, j) evenly from those that
// the mask leaves visible. What is the same for all keys of a query, E[s | x, i], is left out: the
// softmax does not see it. The rest has a variance, which the analysis of variance (Hoeffding 1948,
// Sobol 1993) splits without remainder. With <f>_y the mean over y, and so on:
//
//   position-position  P(i,j)    = <s>_xy - the mean of that over the row's visible keys
//   content-position   X(x;i,j)  = <s>_y - <s>_xy - the mean of that over the row's visible keys
//   position-content   Y(y;i,j)  = <s>_x - <s>_x,ij - <s>_xy + <s>
//   content-content    C(x,y)    = <s>_ij - <s>_y,ij: what is left of the contents everywhere
//   interaction        I         = s - E[s | x, i] - P - X - Y - C: how much the product of two
//                                  contents depends on where both stand
//
// For a score that is a sum a(x, y) + b(x, i, j) + c(y, i, j) + d(i, j) (Transformer-XL, TUPE,
// DeBERTa, biases, tables added to the embedding) the four shares are those of its terms, and the
// interaction is 0; that is what the tests hold it against. A rotation is the other case: q R_ij k
// is mostly interaction, and its means over contents give the rest.
//
// The means are over m query contents times m key contents at all visible pairs; that they are no
// more than m is taken out of the estimates (expected mean squares of the crossed random design,
// Searle 1971), and the groups of contents are averaged. How far they differ from one another gives
// the standard errors (the jackknife, Quenouille 1956: each group left out once). A scheme that
// counts tokens by their content is asked with y at every position. H heads, L length, D head
// width, F token inputs of a head, N contents.
#pragma once

#include <ATen/core/Tensor.h>

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
  // The contents, without what their positions add.
  at::Tensor query;             // [N, H, D], before rotation
  at::Tensor key;               // [N, H, D]
  at::Tensor key_token_inputs;  // [N, H, F] of schemes with token inputs
  // What positions add to queries and keys: [H, L, D], or undefined.
  at::Tensor query_positions, key_positions;
  std::int64_t groups = 1;  // N = groups * m, m > 1
};

// Of one head. Shares of the variance, which sum to 1; NaN where the scores do not vary.
struct ScoreShares {
  double content_content = 0;
  double content_position = 0;
  double position_content = 0;
  double position_position = 0;
  double interaction = 0;
  double deviation = 0;  // of what the softmax sees of the scores: the root of the variance

  // Of the shares, by the groups of contents; NaN for one group.
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

std::vector<ScoreShares> score_shares(const ScoreInputs& inputs);

}  // namespace roformer
