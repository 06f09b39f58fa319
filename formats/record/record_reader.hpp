#pragma once

#include "shale/format/format.hpp"

namespace shale {

// Features may be missing from some records: so they are not named beforehand. Of records of
// another kind, shale makes one field of bytes.
inline constexpr ReaderCode kRecordReader = {
    .library = "tfrecord", .code = R"({{#has_features}}from tfrecord.reader import tfrecord_loader

for sample in tfrecord_loader({{file}}, None):
    break
{{/has_features}}{{^has_features}}from tfrecord.reader import tfrecord_iterator

for value in tfrecord_iterator({{file}}):
    break
{{/has_features}})"};

}  // namespace shale
