// Section `position` of the configuration: the chosen scheme and the options of all schemes. Each
// scheme's options are a struct of its own in schemes/NAME.h, which whoever needs them names:
// `position.of<RopeSettings>().base`. A change of one scheme's options is seen by its users alone.
#pragma once

#include <any>
#include <map>
#include <string>
#include <typeindex>
#include <utility>

namespace roformer {

class PositionSettings {
 public:
  PositionSettings() = default;
  explicit PositionSettings(std::string name) : scheme(std::move(name)) {}

  std::string scheme = "rope";
  // A translator's: the scheme of its decoder, where it is another one, and which scheme's
  // rotations take part in its attention to the source.
  std::string decoder = "same";
  std::string cross = "none";

  // The same options under the scheme of a translator's decoder, and of its attention to the
  // source.
  PositionSettings of_decoder() const { return with_scheme(decoder == "same" ? scheme : decoder); }
  PositionSettings of_cross() const { return with_scheme(cross); }

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
  PositionSettings with_scheme(const std::string& name) const {
    PositionSettings other = *this;
    other.scheme = name;
    return other;
  }

  std::map<std::type_index, std::any> options_;
};

}  // namespace roformer
