// Section `position` of the configuration: the chosen scheme and the options of all schemes. Each
// scheme has its own struct of options in schemes/NAME.h. Code that uses them includes that header
// and writes `position.of<RopeSettings>().base`, so only this code recompiles when a scheme's
// options change.
#pragma once

#include <string>
#include <utility>

#include "config/option_structs.h"

namespace roformer {

// of<RopeSettings>() returns the options of the scheme with that struct.
class PositionSettings : public OptionStructs {
 public:
  PositionSettings() = default;
  explicit PositionSettings(std::string name) : scheme(std::move(name)) {}

  std::string scheme = "rope";
  // For a translator: the scheme of its decoder if it differs, and the scheme whose rotations apply
  // to the attention to the source.
  std::string decoder = "same";
  std::string cross = "none";

  // The same options with the decoder's scheme, and with the scheme of the attention to the source.
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
