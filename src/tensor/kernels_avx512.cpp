#define ROFORMER_KERNELS_NAMESPACE avx512
#include "tensor/kernels_implementation.h"
