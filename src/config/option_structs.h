// Structs of options by their type, each at its defaults until it is written to: the settings of
// whoever is not known here by name, as a scheme or a registered task.
#pragma once

#include <any>
#include <map>
#include <typeindex>

namespace roformer {

class OptionStructs {
 public:
  template <class Options>
  const Options& of() const {
    static const Options defaults;
    const auto found = options_.find(typeid(Options));
    return found == options_.end() ? defaults : *std::any_cast<Options>(&found->second);
  }
  template <class Options>
  Options& of() {
    std::any& options = options_[typeid(Options)];
    if (!options.has_value()) options = Options();
    return *std::any_cast<Options>(&options);
  }

 private:
  std::map<std::type_index, std::any> options_;
};

}  // namespace roformer
