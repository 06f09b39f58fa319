#include "shale/data/digest.hpp"

#include <cstring>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

__extension__ typedef unsigned __int128 Wide;

Wide wide(const Hash128& hash) { return Wide{hash.high} << 64 | hash.low; }
Hash128 narrow(Wide number) {
  return {static_cast<std::uint64_t>(number >> 64), static_cast<std::uint64_t>(number)};
}

// r of the ordered digest: odd and 5 mod 8, so that its powers repeat only after 2^126 samples. The
// multiplier of PCG's 128-bit generator (O'Neill 2014), chosen there by the spectral test.
constexpr Wide kOrder = Wide{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;

Wide order_power(std::uint64_t exponent) {
  Wide power = 1;
  for (Wide square = kOrder; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) power *= square;
  }
  return power;
}

void add_number(Hasher128& hasher, std::uint64_t number) { hasher.update(bytes_of(number)); }

void add_run(Hasher128& hasher, Bytes run) {
  add_number(hasher, run.size());
  hasher.update(run);
}

void add_bytes(Hasher128& hasher, const AnyBytes& bytes) {
  bytes.for_each_piece([&](Bytes piece) { hasher.update(piece); });
}

void add_any(Hasher128& hasher, const AnyBytes& run) {
  add_number(hasher, run.size());
  add_bytes(hasher, run);
}

void add_name(Hasher128& hasher, const Field& field) {
  add_run(hasher, as_bytes(field.name));
  hasher.update(bytes_of(field.kind));
}

void add_tensor(Hasher128& hasher, const Field& field, std::span<const std::uint64_t> shape,
                const AnyBytes& elements) {
  const Bytes dtype = as_bytes(field.dtype.descr());
  const std::uint64_t dimensions = shape.size();
  add_number(hasher, sizeof(std::uint64_t) * (2 + dimensions) + dtype.size() + elements.size());
  add_run(hasher, dtype);
  add_number(hasher, dimensions);
  for (const std::uint64_t side : shape) add_number(hasher, side);
  add_bytes(hasher, elements);
}

void add_list(Hasher128& hasher, const Value& list) {
  const std::uint64_t count = count_elements(list);
  add_number(hasher, sizeof(std::uint64_t) * (1 + count) + payload_bytes_of(list));
  add_number(hasher, count);
  for (std::uint64_t i = 0; i < count; ++i) add_any(hasher, element_of(list, i));
}

void add_value(Hasher128& hasher, const Field& field, std::span<const std::uint64_t> shape,
               const Value& value) {
  switch (field.kind) {
    case Kind::bytes:
    case Kind::text:
      add_any(hasher, run_of(value));
      break;
    case Kind::integer:
      add_run(hasher, bytes_of(std::get<std::int64_t>(value)));
      break;
    case Kind::real:
      add_run(hasher, bytes_of(std::get<double>(value)));
      break;
    case Kind::tensor:
      add_tensor(hasher, field, shape, run_of(value));
      break;
    case Kind::list:
      add_list(hasher, value);
      break;
  }
}

// The head is taken if it is wanted.
SampleDigest digest_with_head(const Sample& sample, const Schema& schema, Hash128* head) {
  // Kept by the thread: this runs on every sample, and a new state would be an allocation each.
  thread_local Hasher128 hasher;
  hasher.reset();
  ShapeWalk shapes(sample.sides);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const auto shape = shapes.next(field);
    if (!std::holds_alternative<std::monostate>(sample.values.at(i))) {
      add_name(hasher, field);
      add_value(hasher, field, shape, sample.values.at(i));
    }
    if (i == 0 && head != nullptr) *head = hasher.digest();
  }
  SampleDigest digest;
  digest.content = hasher.digest();

  hasher.reset();
  add_run(hasher, as_bytes(sample.key));
  hasher.update(digest.content.bytes());
  digest.keyed = hasher.digest();
  return digest;
}

// One field of a canonical sample whose values have one size.
struct CanonicalColumn {
  const Field* field;
  const std::byte* next;       // the value of the next row
  std::uint64_t stored_bytes;  // of one value
  std::uint64_t position;      // of the value in the canonical sample
};

// What never changes of a canonical sample, with room for the values; and where they go. Values of
// tensors that are larger than this are hashed where they are.
constexpr std::uint64_t kMostCopiedBytes = 2048;

class CanonicalRow {
 public:
  CanonicalRow(std::span<const Bytes> columns, std::uint64_t rows, const Schema& schema) {
    ByteWriter canonical;
    const auto put_run = [&](Bytes run) {
      canonical.write(std::uint64_t{run.size()});
      canonical.write_bytes(run);
    };
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      const std::uint64_t stored = rows == 0 ? 0 : columns[i].size() / rows;
      put_run(as_bytes(field.name));
      canonical.write_bytes(bytes_of(field.kind));
      if (field.kind == Kind::tensor) {
        const Bytes dtype = as_bytes(field.dtype.descr());
        canonical.write(sizeof(std::uint64_t) * (2 + field.shape.size()) + dtype.size() + stored);
        put_run(dtype);
        canonical.write(std::uint64_t{field.shape.size()});
        for (const std::uint64_t side : field.shape) canonical.write(side);
      } else {
        canonical.write(std::uint64_t{sizeof(std::uint64_t)});
      }
      columns_.push_back({&field, columns[i].data(), stored, canonical.size()});
      if (field.kind != Kind::tensor)
        canonical.write(std::uint64_t{0});
      else if (stored <= kMostCopiedBytes)
        for (std::uint64_t at = 0; at < stored; ++at) canonical.write(std::uint8_t{0});
      else
        has_large_ = true;
    }
    bytes_ = canonical.take();
  }

  // The hash of the next row.
  Hash128 next() {
    for (CanonicalColumn& column : columns_) {
      if (column.field->kind == Kind::tensor) {
        if (column.stored_bytes <= kMostCopiedBytes && column.stored_bytes > 0)
          std::memcpy(&bytes_[column.position], column.next, column.stored_bytes);
      } else {
        const IndexCell cell = read_number({column.next, column.stored_bytes}, *column.field);
        if (column.field->kind == Kind::integer)
          std::memcpy(&bytes_[column.position], &cell.integer, sizeof(cell.integer));
        else
          std::memcpy(&bytes_[column.position], &cell.real, sizeof(cell.real));
      }
    }
    const Hash128 hash = has_large_ ? hash_in_pieces() : xxh3_128(bytes_);
    for (CanonicalColumn& column : columns_) column.next += column.stored_bytes;
    return hash;
  }

 private:
  Hash128 hash_in_pieces() {
    hasher_.reset();
    std::uint64_t done = 0;
    for (const CanonicalColumn& column : columns_) {
      if (column.field->kind != Kind::tensor || column.stored_bytes <= kMostCopiedBytes) continue;
      hasher_.update(Bytes(bytes_).subspan(done, column.position - done));
      hasher_.update({column.next, column.stored_bytes});
      done = column.position;
    }
    hasher_.update(Bytes(bytes_).subspan(done));
    return hasher_.digest();
  }

  std::vector<CanonicalColumn> columns_;
  std::vector<std::byte> bytes_;
  bool has_large_ = false;
  Hasher128 hasher_;
};

}  // namespace

DatasetDigest digest_of_rows(std::span<const Bytes> columns, std::uint64_t rows,
                             const Schema& schema) {
  CanonicalRow row(columns, rows, schema);
  DatasetDigest digest;
  try {
    while (digest.samples < rows) digest.add({.content = row.next(), .keyed = {}});
  } catch (Error& error) {
    error.for_sample({}, digest.samples);
    throw;
  }
  return digest;
}

SampleDigest digest_of(const Sample& sample, const Schema& schema) {
  return digest_with_head(sample, schema, nullptr);
}

HeadedDigest headed_digest_of(const Sample& sample, const Schema& schema) {
  HeadedDigest headed;
  headed.digest = digest_with_head(sample, schema, &headed.head);
  return headed;
}

Hasher128 begin_head(const Field& first, std::uint64_t bytes) {
  Hasher128 hasher;
  add_name(hasher, first);
  add_number(hasher, bytes);
  return hasher;
}

void DatasetDigest::add(const SampleDigest& sample) {
  samples += 1;
  content = narrow(wide(content) + wide(sample.content));
  ordered = narrow(wide(ordered) * kOrder + wide(sample.content));
  keys = narrow(wide(keys) + wide(sample.keyed));
}

void DatasetDigest::append(const DatasetDigest& next) {
  samples += next.samples;
  content = narrow(wide(content) + wide(next.content));
  ordered = narrow(wide(ordered) * order_power(next.samples) + wide(next.ordered));
  keys = narrow(wide(keys) + wide(next.keys));
}

}  // namespace shale
