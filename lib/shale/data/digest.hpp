#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "shale/base/checksum.hpp"
#include "shale/data/sample.hpp"

namespace shale {

/// The hashes of one sample: `content` of its canonical form without the key, `keyed` of key and
/// content together.
struct SampleDigest {
  Hash128 content, keyed;
  friend bool operator==(const SampleDigest&, const SampleDigest&) = default;
};

/// Hashes the canonical sample. The layout (docs/digests.md; all numbers little-endian): for each
/// field in schema order: u64 name length, name, u8 kind, u64 value length, value. Value of bytes
/// and text: the bytes; integer: i64; real: f64 bits; tensor: u64 length of dtype, dtype, u64
/// dimensions, u64 each, elements in C order; list: u64 count, then u64 length and bytes of each
/// element.
/// keyed = xxh3-128(u64 key length, key, the 16 canonical bytes of content).
[[nodiscard]] SampleDigest digest_of(const Sample& sample, const Schema& schema);

/// The digest of a sample, and the hash of its canonical form up to the end of the first field.
struct HeadedDigest {
  SampleDigest digest;
  Hash128 head;
};
/// digest_of, with the head, which is taken on the way: two samples of a schema have the same head
/// only if they have the same value of the first field.
[[nodiscard]] HeadedDigest headed_digest_of(const Sample& sample, const Schema& schema);
/// Takes the head of a sample from the bytes of its first field alone, which is of kind bytes: they
/// are to be added, so many.
[[nodiscard]] Hasher128 begin_head(const Field& first, std::uint64_t bytes);

/// Digests of a run of samples. They survive any conversion, and join: runs A and B give the
/// digests of A followed by B.
///   content = sum of h              mod 2^128   (any order)
///   ordered = sum of h_i r^(n-1-i)  mod 2^128   (this order)
///   keys    = sum of keyed          mod 2^128   (any order; absent where there are no keys)
/// with r = 0x2360ed051fc65da44385df649fccf645.
struct DatasetDigest {
  std::uint64_t samples = 0;
  Hash128 content, ordered, keys;
  friend bool operator==(const DatasetDigest&, const DatasetDigest&) = default;

  void add(const SampleDigest& sample);
  /// Appends the run that `next` describes: ordered = ordered * r^next.samples + next.ordered.
  void append(const DatasetDigest& next);
};

/// The digests of many samples of a schema with has_fixed_fields(), from their columns: a field
/// each, the values of `rows` samples one after the other, as they are stored. The same as of each
/// sample by digest_of, but for `keys`, which stays zero. Errors: same as read_number, naming the
/// row.
[[nodiscard]] DatasetDigest digest_of_rows(std::span<const Bytes> columns, std::uint64_t rows,
                                           const Schema& schema);

}  // namespace shale
