// The only place that lists the schemes. A scheme's file defines its factory; its name and
// capabilities stand in config/position_facts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "position/scheme.h"

namespace roformer {

using SchemeFactory = std::unique_ptr<PositionScheme> (*)(const SchemeInputs&);

// Adds a scheme beside the built-in ones (a test's toy scheme, say). The name must be new.
void register_scheme(const std::string& name, SchemeFactory factory);

}  // namespace roformer
