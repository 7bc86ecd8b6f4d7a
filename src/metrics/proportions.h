// What a share of right answers says: its interval, and whether two systems that answered the same
// questions differ.
#pragma once

#include <cstdint>

#include "metrics/statistics.h"

namespace roformer {

// Wilson's score interval at 95 % (Wilson 1927, without a correction of continuity), as
// statsmodels' proportion_confint(method="wilson"); degenerate without trials.
Interval wilson_interval(std::int64_t successes, std::int64_t trials);

// sqrt(p (1 - p) / n); 0 without trials.
double standard_error(std::int64_t successes, std::int64_t trials);

// McNemar's test in its exact form, two-sided: of the questions that one of two systems has right
// and the other wrong, the probability of a division as uneven as this one or more, if both were
// equally good. As statsmodels' mcnemar(exact=True); 1 where there is no such question.
double mcnemar_exact(std::int64_t only_first_right, std::int64_t only_second_right);

}  // namespace roformer
