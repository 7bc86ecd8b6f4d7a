// Catch2 of either major version, under one name.
#pragma once

#if ROFORMER_CATCH2_VERSION == 2
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif
