// No positions at all (NoPE): only a causal mask tells positions apart. Section 14.
#include "position/scheme.h"

namespace roformer {

std::unique_ptr<PositionScheme> make_none(const SchemeInputs&) {
  return std::make_unique<PositionScheme>();
}

}  // namespace roformer
