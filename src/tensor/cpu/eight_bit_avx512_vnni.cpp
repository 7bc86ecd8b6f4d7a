#define ROFORMER_KERNELS_NAMESPACE eight_bit_avx512_vnni
#include "tensor/cpu/eight_bit_loops.h"
#include "tensor/cpu/few_row_loops.h"
