#define ROFORMER_KERNELS_NAMESPACE avx2
#include "tensor/kernels_implementation.h"
#include "tensor/attention_kernels_implementation.h"
