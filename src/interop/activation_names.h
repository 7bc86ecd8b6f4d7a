// What Hugging Face's configurations call the activations of a feed-forward layer.
#pragma once

#include <string_view>

#include "config/model_settings.h"
#include "interop/config_fields.h"

namespace roformer {

// Of the field of that name, gelu where it is absent. Throws Error (failure) for one that is not ours.
ActivationKind parse_activation(const ConfigFields& fields, const char* field);

std::string_view activation_name(ActivationKind kind);

}  // namespace roformer
