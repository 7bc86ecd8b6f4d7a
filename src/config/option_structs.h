// Option structs by their type, each with its defaults until it is written to. They hold the
// settings of schemes and registered tasks, which this header does not know by name.
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
