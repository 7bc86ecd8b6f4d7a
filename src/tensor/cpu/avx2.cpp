#define ROFORMER_KERNELS_NAMESPACE avx2
#include "tensor/cpu/tables.h"
