#pragma once

#include "shale/format/format.hpp"

namespace shale {

inline constexpr ReaderCode kLmdbReader = {
    .library = "lmdb", .code = R"(import lmdb{{#has_own_samples}}, msgpack{{/has_own_samples}}

env = lmdb.open({{file}}, subdir={{#is_folder}}True{{/is_folder}}{{^is_folder}}False{{/is_folder}}, readonly=True, lock=False, readahead=False)
{{^has_samples}}print(env.stat())
{{/has_samples}}{{#has_samples}}with env.begin(buffers=True) as txn:
{{#has_own_samples}}    sample = msgpack.unpackb(txn.get(b"00000000"))
value = sample[{{field|python}}]
{{/has_own_samples}}{{^has_own_samples}}    key, value = next(iter(txn.cursor()))
{{/has_own_samples}}{{/has_samples}})"};

}  // namespace shale
