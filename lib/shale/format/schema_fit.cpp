#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

namespace shale {

void check_schema_fits(const Format& format, const Schema& schema) {
  validate_schema(schema, format.reserved_fields);
  for (const Field& field : schema.fields) {
    if (std::find(format.can.kinds.begin(), format.can.kinds.end(), field.kind) !=
        format.can.kinds.end())
      continue;
    throw Error(Code::unsupported, "format '{}' cannot hold field '{}' of kind {}", format.name,
                field.name, name_of(field.kind))
        .hint("'shale formats' lists what each format holds");
  }
}

}  // namespace shale
