#define ROFORMER_KERNELS_NAMESPACE avx512
#include "tensor/cpu/tables.h"
