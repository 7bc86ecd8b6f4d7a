#include "tensor/tile_products.h"

#include <ATen/native/CPUBlas.h>

#include "tensor/device.h"

namespace roformer {

void multiply(const TileProduct& tile) {
  at::native::cpublas::brgemm(tile.m, tile.n, tile.k, tile.a_row, tile.b_row, tile.product_row,
                              tile.add, tile.a, tile.b, tile.product);
}

bool has_tile_products() {
  static const bool has =
      bf16_support().amx && at::native::cpublas::could_pack(at::ScalarType::BFloat16);
  return has;
}

void release_tiles() {
  if (has_tile_products()) at::native::cpublas::brgemm_release();
}

}  // namespace roformer
