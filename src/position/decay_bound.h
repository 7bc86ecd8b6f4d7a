// The long-term decay of RoPE: the bound of section 3.4.3 and figure 2 of the RoFormer paper.
#pragma once

#include <span>
#include <vector>

namespace roformer {

// f(m) = mean over j = 1 .. n of |S_j(m)|, S_j(m) = sum over i < j of e^(sqrt(-1) m theta_i) (eq.
// 36, 37), for each distance m; n frequencies theta.
std::vector<double> decay_bound(std::span<const double> frequencies,
                                std::span<const double> distances);

}  // namespace roformer
