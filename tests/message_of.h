// What a call complains of.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace roformer {

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace roformer
