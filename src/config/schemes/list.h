// The positional schemes in the order in which they are listed everywhere. A new scheme needs one
// line here besides its own files, config/schemes/NAME.cpp (`define_NAME`) and position/NAME.cpp
// (`make_NAME`).
#pragma once

#define ROFORMER_EACH_SCHEME(DO) \
  DO(sinusoidal)                 \
  DO(learned)                    \
  DO(explicit_positions)         \
  DO(none)                       \
  DO(shaw)                       \
  DO(music_transformer)          \
  DO(nezha)                      \
  DO(transformer_xl)             \
  DO(t5)                         \
  DO(tupe)                       \
  DO(deberta)                    \
  DO(alibi)                      \
  DO(kerple)                     \
  DO(fire)                       \
  DO(sandwich)                   \
  DO(dape)                       \
  DO(fox)                        \
  DO(cope)                       \
  DO(path)                       \
  DO(stick_breaking)             \
  DO(rope)                       \
  DO(xpos)                       \
  DO(fope)                       \
  DO(rerope)                     \
  DO(self_extend)                \
  DO(dual_chunk)                 \
  DO(streaming)                  \
  DO(formula)                    \
  DO(layers)
