// A text as one line of output, so that a line in stays a line out.
#pragma once

#include <string>

namespace roformer {

// With spaces for line breaks, which a vocabulary of bytes has, too.
std::string as_one_line(std::string text);

}  // namespace roformer
