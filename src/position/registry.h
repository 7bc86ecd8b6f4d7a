// Creates schemes by name: those of config/schemes/list.h, whose files here define `make_NAME`, and
// registered ones.
#pragma once

#include <memory>
#include <string>

#include "position/scheme.h"

namespace roformer {

using SchemeFactory = std::unique_ptr<PositionScheme> (*)(const SchemeInputs&);

// Adds a scheme beside the built-in ones (a test's, say), whose definition is registered with
// config/schemes/definition.h. The name must be new.
void register_scheme(const std::string& name, SchemeFactory factory);

}  // namespace roformer
