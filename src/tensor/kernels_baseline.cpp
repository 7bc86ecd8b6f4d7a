#define ROFORMER_KERNELS_NAMESPACE baseline
#include "tensor/kernels_implementation.h"
#include "tensor/attention_kernels_implementation.h"
