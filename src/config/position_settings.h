// Section `position` of the configuration: the chosen scheme and the options of all schemes. Each
// scheme's options are a struct of its own in schemes/NAME.h, which whoever needs them names:
// `position.of<RopeSettings>().base`. A change of one scheme's options is seen by its users alone.
#pragma once

#include <string>
#include <utility>

#include "config/option_structs.h"

namespace roformer {

// of<RopeSettings>(): the options of the scheme whose settings struct this is.
class PositionSettings : public OptionStructs {
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

 private:
  PositionSettings with_scheme(const std::string& name) const {
    PositionSettings other = *this;
    other.scheme = name;
    return other;
  }
};

}  // namespace roformer
