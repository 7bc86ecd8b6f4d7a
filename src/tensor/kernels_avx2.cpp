#define ROFORMER_KERNELS_NAMESPACE avx2
#include "tensor/kernels_implementation.h"
