// Catch2 of either major version, under one name.
#pragma once

// LibTorch's logging has a CHECK too. Read first, it cannot take the place of Catch's.
#if __has_include(<c10/util/Logging.h>)
#include <c10/util/Logging.h>
#undef CHECK
#endif

#if ROFORMER_CATCH2_VERSION == 2
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif
