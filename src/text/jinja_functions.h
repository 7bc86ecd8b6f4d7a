// What a template in Jinja can do with values: operations, filters, tests and methods as Python and
// Jinja define them, and nothing but those that chat templates use.
#pragma once

#include <optional>
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

// What an output writes.
std::string written_value(const JinjaValue& value);
JinjaValue jinja_operation(const std::string& name, const JinjaValue& left,
                           const JinjaValue& right);
JinjaValue jinja_filter(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments);
bool jinja_test(const std::string& name, const JinjaValue& value, const JinjaArguments& arguments);
JinjaValue jinja_method(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments);
JinjaValue jinja_slice(const JinjaValue& value, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step);
// Undefined where there is none.
JinjaValue jinja_item(const JinjaValue& value, const JinjaValue& index);
JinjaValue jinja_range(const JinjaArguments& arguments);

}  // namespace roformer
