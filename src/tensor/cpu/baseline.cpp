#define ROFORMER_KERNELS_NAMESPACE baseline
#include "tensor/cpu/tables.h"
