#if ROFORMER_CATCH2_VERSION == 2
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.h"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
