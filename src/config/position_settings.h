// Section `position` of the configuration: the chosen scheme and the options of all schemes. Each
// scheme's options are a struct of its own in schemes/NAME.h, which whoever needs them names:
// `position.of<RopeSettings>().base`. A change of one scheme's options is seen by its users alone.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>

namespace roformer {

class PositionSettings {
 public:
  std::string scheme = "rope";

  // The options of the scheme whose settings struct this is, at their defaults until written to.
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
