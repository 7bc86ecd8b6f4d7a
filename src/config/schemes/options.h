// Tools with which a scheme's file lists its options: one ROFORMER_OPTION for each, and the
// descriptions of options that several schemes share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/position_settings.h"
#include "config/schema_row.h"
#include "config/schemes/definition.h"
#include "config/settings.h"

namespace roformer {

// The section of a scheme that contains the options.
struct SchemeSection {
  std::string name;  // "position.rope"
  PositionSettings Settings::*position;

  template <class Options, class Value>
  Key key(std::string_view option, Value Options::*member, RowText row) const {
    const auto chosen = position;
    const auto access = [ chosen, member ](auto& settings) -> auto& {
      return (settings.*chosen).template of<Options>().*member;
    };
    return make_key(name + "." + std::string(option), member_of(access), std::move(row));
  }
};

constexpr double kLongest = 1 << 20;  // tokens in a table

// Options that mean the same in every scheme.
RowText wavelength_base();
RowText table_length();
RowText bucket_count();
RowText bucket_distance();
RowText rotary_layout(const char* default_of);

// The functions of a scheme with a table of `length` positions.
template <class Options>
std::int64_t table_positions(const PositionSettings& position) {
  return position.of<Options>().length;
}
template <class Options>
void fit_table(PositionSettings& position, const SchemeUse& use) {
  std::int64_t& length = position.of<Options>().length;
  length = std::max(length, use.length);
}

}  // namespace roformer

// One option: a member of the scheme's settings struct, whose name is the key's. The surrounding
// function must have a parameter `section`.
#define ROFORMER_OPTION(options, member, ...) section.key(#member, &options::member, __VA_ARGS__)
