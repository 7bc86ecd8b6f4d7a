// What a template in Jinja can do with values: operations, filters, tests and methods as Python and
// Jinja define them, and nothing but those that chat templates use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_syntax.h"

namespace roformer {

struct JinjaArguments {
  std::vector<JinjaValue> values;
  std::vector<std::pair<std::string, JinjaValue>> named;
};

bool is_undefined(const JinjaValue& value);
bool is_true(const JinjaValue& value);
// "a text", "a number": for messages.
std::string kind_of_value(const JinjaValue& value);

// All of these throw JinjaProblem with what is wrong.
struct JinjaProblem {
  std::string message;
};

inline constexpr std::size_t kLongestChatText = std::size_t{1} << 20;

// The work that one rendering may do: a stranger's template may ask for any amount. A step is about
// a byte that is read or written. Work is charged before it is done.
class JinjaWork {
 public:
  // Throws JinjaProblem where it is too much.
  void charge(std::uint64_t steps);

 private:
  std::uint64_t left_ = std::uint64_t{64} << 20;
};
// Steps to make any value, besides its bytes; their memory is about as many bytes.
inline constexpr std::uint64_t kStepsOfValue = 64;
// Steps to copy the value.
std::uint64_t steps_of_value(const JinjaValue& value);
// Steps to find a name in a mapping or to add one: names are searched one by one.
std::uint64_t steps_of_lookup(const JinjaValue& mapping);

// What an output writes.
std::string written_value(const JinjaValue& value);
JinjaValue jinja_operation(const std::string& name, const JinjaValue& left, const JinjaValue& right,
                           JinjaWork& work);
JinjaValue jinja_filter(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work);
bool jinja_test(const std::string& name, const JinjaValue& value, const JinjaArguments& arguments,
                JinjaWork& work);
JinjaValue jinja_method(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work);
JinjaValue jinja_slice(const JinjaValue& value, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step, JinjaWork& work);
// Undefined where there is none.
JinjaValue jinja_item(const JinjaValue& value, const JinjaValue& index, JinjaWork& work);
JinjaValue jinja_range(const JinjaArguments& arguments, JinjaWork& work);

}  // namespace roformer
