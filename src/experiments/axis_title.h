// Names that people know, for values of axes whose words in a configuration are shorter.
#pragma once

#include <string>

namespace roformer {

// "MRPC (F1)" for mrpc of glue.task; the value itself for other axes.
std::string axis_value_title(const std::string& key, const std::string& value);

}  // namespace roformer
