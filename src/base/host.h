// The name of this machine, where several work on one thing and a message says which.
#pragma once

#include <string>

namespace roformer {

std::string host_name();

}  // namespace roformer
