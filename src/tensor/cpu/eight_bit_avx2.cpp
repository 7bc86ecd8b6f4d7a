#define ROFORMER_KERNELS_NAMESPACE eight_bit_avx2
#include "tensor/cpu/eight_bit_loops.h"
#include "tensor/cpu/few_row_loops.h"
