#pragma once

#include "shale/format/format.hpp"

namespace shale::test {

/// A format that exists to prove the seam: it uses everything a format may use, and fails on
/// demand. toy_format.cpp has the byte map. Holds bytes, integers and lists, and refuses the field
/// name "toy".
///
/// Option `fail_at` makes it throw Code::io: "encode:KEY" at the sample of that key, "create" at
/// each shard, "append:N" at the N-th record of a shard (from 0), "close" at the end of each shard.
///
/// Its own library disagrees about a sample of the key "liar", lacks one of the key "lost", dies of
/// one of the key "deadly", and is out of memory at one of the key "short".
extern const Format toy_format;

}  // namespace shale::test
