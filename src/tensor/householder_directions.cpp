#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/householder_attention.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// The rows [B, L, H, D] of a tensor [B, H, L, D] with contiguous features.
template <typename T>
struct DirectionRows {
  T* data = nullptr;
  std::int64_t text = 0, head = 0, token = 0;  // strides

  explicit DirectionRows(const at::Tensor& x)
      : data(x.data_ptr<T>()), text(x.stride(0)), head(x.stride(1)), token(x.stride(2)) {
    ROFORMER_ASSERT(x.stride(3) == 1);
  }
  T* at(std::int64_t b, std::int64_t l, std::int64_t h) const {
    return data + b * text + l * token + h * head;
  }
};

struct DirectionState {
  at::Tensor input;  // [B, H, L, D]
  at::Tensor taps;   // [K, H, D]
  double epsilon = 0;
  // [B, H, L, D]: the sums of the convolution, their sigmoids and the result.
  at::Tensor sums, shares, directions;
  at::Tensor inverse;  // [B, L, H] of the lengths

  std::int64_t texts() const { return input.size(0); }
  std::int64_t heads() const { return input.size(1); }
  std::int64_t length() const { return input.size(2); }
  std::int64_t width() const { return input.size(3); }
  at::Tensor like_tokens() const {
    return at::empty({texts(), length(), heads(), width()}, input.options()).transpose(1, 2);
  }

  // function(token, head, tap, earlier token) for all taps that read a token of the text.
  template <typename Function>
  void for_taps(const Function& function) const {
    const std::int64_t count = taps.size(0);
    for (std::int64_t l = 0; l < length(); ++l) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        for (std::int64_t t = std::max<std::int64_t>(0, count - 1 - l); t < count; ++t) {
          function(l, h, t, l - count + 1 + t);
        }
      }
    }
  }
  template <typename T>
  const T* tap(std::int64_t t, std::int64_t h) const {
    return taps.const_data_ptr<T>() + (t * heads() + h) * width();
  }
  template <typename T>
  T& inverse_at(std::int64_t b, std::int64_t l, std::int64_t h) const {
    return inverse.data_ptr<T>()[(b * length() + l) * heads() + h];
  }
};

template <typename T>
void convolve_directions(const DirectionState& state, std::int64_t b) {
  const DirectionRows<T> input(state.input), sums(state.sums);
  const std::int64_t width = state.width();
  std::fill_n(sums.at(b, 0, 0), state.length() * state.heads() * width, T(0));
  state.for_taps([&](std::int64_t l, std::int64_t h, std::int64_t t, std::int64_t earlier) {
    T* __restrict to = sums.at(b, l, h);
    const T* __restrict from = input.at(b, earlier, h);
    const T* __restrict factor = state.tap<T>(t, h);
    for (std::int64_t d = 0; d < width; ++d) to[d] += from[d] * factor[d];
  });
}

// Calls function(token, head) for a text.
template <typename Function>
void for_directions(const DirectionState& state, const Function& function) {
  for (std::int64_t l = 0; l < state.length(); ++l) {
    for (std::int64_t h = 0; h < state.heads(); ++h) function(l, h);
  }
}

template <typename T>
void normalize_directions(const DirectionState& state, std::int64_t b) {
  const DirectionRows<T> sums(state.sums), shares(state.shares), directions(state.directions);
  const std::int64_t width = state.width();
  for_directions(state, [&](std::int64_t l, std::int64_t h) {
    const T* __restrict sum = sums.at(b, l, h);
    const T* __restrict share = shares.at(b, l, h);
    T* __restrict to = directions.at(b, l, h);
    T squares = 0;
    for (std::int64_t d = 0; d < width; ++d) {
      to[d] = sum[d] * share[d];
      squares += to[d] * to[d];
    }
    const T inverse = T(1) / std::sqrt(squares + static_cast<T>(state.epsilon));
    state.inverse_at<T>(b, l, h) = inverse;
    for (std::int64_t d = 0; d < width; ++d) to[d] *= inverse;
  });
}

// Fills to_sums and to_input of a text; adds to to_taps [K, H, D].
template <typename T>
void direction_gradients(const DirectionState& state, const at::Tensor& gradient,
                         const at::Tensor& to_sums, const at::Tensor& to_input, std::int64_t b,
                         T* to_taps) {
  const DirectionRows<T> sums(state.sums), shares(state.shares), directions(state.directions),
      slopes(gradient), into(to_sums), back(to_input), input(state.input);
  const std::int64_t width = state.width();
  for_directions(state, [&](std::int64_t l, std::int64_t h) {
    const T* __restrict slope = slopes.at(b, l, h);
    const T* __restrict direction = directions.at(b, l, h);
    const T* __restrict sum = sums.at(b, l, h);
    const T* __restrict share = shares.at(b, l, h);
    T* __restrict to = into.at(b, l, h);
    T along = 0;
    for (std::int64_t d = 0; d < width; ++d) along += slope[d] * direction[d];
    const T inverse = state.inverse_at<T>(b, l, h);
    for (std::int64_t d = 0; d < width; ++d) {
      to[d] = inverse * (slope[d] - along * direction[d]) * share[d] *
              (T(1) + sum[d] * (T(1) - share[d]));
    }
  });
  std::fill_n(back.at(b, 0, 0), state.length() * state.heads() * width, T(0));
  state.for_taps([&](std::int64_t l, std::int64_t h, std::int64_t t, std::int64_t earlier) {
    const T* __restrict slope = into.at(b, l, h);
    const T* __restrict from = input.at(b, earlier, h);
    const T* __restrict factor = state.tap<T>(t, h);
    T* __restrict to = back.at(b, earlier, h);
    T* __restrict to_factor = to_taps + (t * state.heads() + h) * width;
    for (std::int64_t d = 0; d < width; ++d) {
      to[d] += slope[d] * factor[d];
      to_factor[d] += slope[d] * from[d];
    }
  });
}

template <typename T>
at::Tensor directions_of(const at::Tensor& input, const at::Tensor& weight, double epsilon) {
  GradientRecorder recorder("attention/householder_directions", {input, weight});
  const at::Tensor own = input.detach();
  DirectionState state{.input = own.stride(3) == 1 ? own : own.contiguous(), .epsilon = epsilon};
  const std::int64_t texts = state.texts(), heads = state.heads(), width = state.width();
  state.taps = weight.detach().t().contiguous().view({-1, heads, width});
  state.sums = state.like_tokens();
  state.directions = state.like_tokens();
  state.inverse = at::empty({texts, state.length(), heads}, own.options());
  const auto for_texts = [&](const auto& function) {
    at::parallel_for(0, texts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) function(b);
    });
  };
  for_texts([&](std::int64_t b) { convolve_directions<T>(state, b); });
  state.shares = at::sigmoid(state.sums);
  for_texts([&](std::int64_t b) { normalize_directions<T>(state, b); });
  const at::Tensor output = state.directions;
  state.directions = output.detach();
  return recorder.finish(output, [state](const Gradients& gradients) -> Gradients {
    const at::Tensor& outer = gradients[0];
    const at::Tensor slopes = outer.stride(3) == 1 ? outer : outer.contiguous();
    const at::Tensor to_sums = state.like_tokens(), to_input = state.like_tokens();
    const at::Tensor to_taps = for_rows_with_sums<T>(
        state.texts(), state.taps.numel(), 1, [&](std::int64_t begin, std::int64_t end, T* sums) {
          for (std::int64_t b = begin; b < end; ++b) {
            direction_gradients<T>(state, slopes, to_sums, to_input, b, sums);
          }
        });
    return {to_input, to_taps.view({state.taps.size(0), -1}).t()};
  });
}

}  // namespace

at::Tensor householder_directions(const at::Tensor& input, const at::Tensor& weight,
                                  double epsilon) {
  ROFORMER_ASSERT(runs_loops(input) && weight.scalar_type() == input.scalar_type());
  if (input.scalar_type() == at::kDouble) return directions_of<double>(input, weight, epsilon);
  ROFORMER_ASSERT(input.scalar_type() == at::kFloat);
  return directions_of<float>(input, weight, epsilon);
}

}  // namespace roformer
