// The number format in stored tables and charts.
#pragma once

#include "base/stored_fields.h"
#include "report/number.h"

namespace roformer {

// The two fields of a number format.
template <class Stored, class Format>
void describe_format(Stored& stored, Format& format) {
  using Style = NumberFormat::Style;
  stored.template word<Style>("style", format.style,
                              {{"general", Style::general},
                               {"fixed", Style::fixed},
                               {"count", Style::count},
                               {"percent", Style::percent},
                               {"scientific", Style::scientific}});
  stored.integer("digits", format.digits, 0, 17);  // a double has no more
}

}  // namespace roformer
