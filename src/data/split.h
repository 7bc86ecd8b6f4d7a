// The three sets into which data are divided.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace roformer {

enum class Split { train, validation, test };
inline constexpr std::array kSplits = {Split::train, Split::validation, Split::test};

// One value for each value of an enumeration.
template <class Key, class Value, std::size_t N>
struct ByKey : std::array<Value, N> {
  using std::array<Value, N>::operator[];
  constexpr Value& operator[](Key key) { return (*this)[static_cast<std::size_t>(key)]; }
  constexpr const Value& operator[](Key key) const {
    return (*this)[static_cast<std::size_t>(key)];
  }
};
template <class Value>
using BySplit = ByKey<Split, Value, kSplits.size()>;

constexpr std::string_view to_string(Split split) {
  constexpr std::array<std::string_view, kSplits.size()> kNames = {"train", "validation", "test"};
  return kNames[static_cast<std::size_t>(split)];
}

// A set that a trained model is measured on, by its name: "validation" or "test".
constexpr Split measured_split(std::string_view name) {
  return name == to_string(Split::test) ? Split::test : Split::validation;
}

}  // namespace roformer
