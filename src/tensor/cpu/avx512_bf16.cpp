#define ROFORMER_KERNELS_NAMESPACE avx512_bf16
#include "tensor/cpu/tables.h"
