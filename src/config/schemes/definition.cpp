#include "config/schemes/definition.h"

#include <atomic>

#include "base/error.h"
#include "config/schemes/list.h"

namespace roformer {

#define ROFORMER_DECLARE_SCHEME(name) SchemeDefinition define_##name();
ROFORMER_EACH_SCHEME(ROFORMER_DECLARE_SCHEME)
#undef ROFORMER_DECLARE_SCHEME

namespace {

struct Definitions {
  std::vector<SchemeDefinition> all;
  std::atomic<bool> read = false;  // once true, the list no longer changes

  const SchemeDefinition* find(std::string_view name) const {
    for (const SchemeDefinition& scheme : all) {
      if (scheme.facts.name == name) return &scheme;
    }
    return nullptr;
  }
};

Definitions& definitions() {
#define ROFORMER_DEFINE_SCHEME(name) define_##name(),
  static Definitions made{.all = {ROFORMER_EACH_SCHEME(ROFORMER_DEFINE_SCHEME)}};
#undef ROFORMER_DEFINE_SCHEME
  return made;
}

}  // namespace

const std::vector<SchemeDefinition>& scheme_definitions() {
  definitions().read = true;
  return definitions().all;
}

const SchemeDefinition* find_scheme_definition(std::string_view name) {
  definitions().read = true;
  return definitions().find(name);
}

void register_scheme_definition(const SchemeDefinition& definition) {
  ROFORMER_ASSERT(!definitions().read && definitions().find(definition.facts.name) == nullptr);
  definitions().all.push_back(definition);
}

}  // namespace roformer
