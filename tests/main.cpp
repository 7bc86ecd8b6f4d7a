#if ROFORMER_CATCH2_VERSION == 2
#define CATCH_CONFIG_RUNNER
#endif
#include <cstdlib>

#include "catch.h"

int main(int argc, char** argv) {
  // The processes of a training are threads of one process here. c10d's recorder of collectives is
  // shared by all groups of a process and crashes now and then where several groups begin at once.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
  return Catch::Session().run(argc, argv);
}
