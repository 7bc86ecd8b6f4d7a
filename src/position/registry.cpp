#include "position/registry.h"

#include <map>

#include "base/error.h"
#include "config/schemes/list.h"

namespace roformer {

#define ROFORMER_DECLARE_SCHEME(name) \
  std::unique_ptr<PositionScheme> make_##name(const SchemeInputs&);
ROFORMER_EACH_SCHEME(ROFORMER_DECLARE_SCHEME)
#undef ROFORMER_DECLARE_SCHEME

namespace {

std::map<std::string, SchemeFactory>& factories() {
#define ROFORMER_NAME_SCHEME(name) {#name, make_##name},
  static std::map<std::string, SchemeFactory> all = {ROFORMER_EACH_SCHEME(ROFORMER_NAME_SCHEME)};
#undef ROFORMER_NAME_SCHEME
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
