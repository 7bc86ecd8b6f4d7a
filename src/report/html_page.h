// The style sheet and the script of every report page.
#pragma once

#include <string_view>

namespace roformer {

extern const std::string_view kPageStyle;
// Shows the values of all lines of a chart at the pointer's place.
extern const std::string_view kPageScript;
// Makes the buttons of HtmlReport::begin_part and hides what is not chosen.
extern const std::string_view kFilterScript;

}  // namespace roformer
