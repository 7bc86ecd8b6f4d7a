#include "position/registry.h"

#include <map>

#include "base/error.h"

namespace roformer {

std::unique_ptr<PositionScheme> make_sinusoidal(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_learned(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_none(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_rope(const SchemeInputs&);

namespace {

std::map<std::string, SchemeFactory>& factories() {
  static std::map<std::string, SchemeFactory> all = {
      {"sinusoidal", make_sinusoidal},
      {"learned", make_learned},
      {"none", make_none},
      {"rope", make_rope},
  };
  return all;
}

}  // namespace

void register_scheme(const std::string& name, SchemeFactory factory) {
  ROFORMER_ASSERT(factories().emplace(name, factory).second);
}

std::unique_ptr<PositionScheme> make_scheme(const SchemeInputs& inputs) {
  const auto found = factories().find(inputs.settings.scheme);
  ROFORMER_ASSERT(found != factories().end());
  return found->second(inputs);
}

}  // namespace roformer
