#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/callbacks.hpp"
#include "shale/field.hpp"
#include "shale/output.hpp"

namespace shale {

class SampleWriter;
struct Schema;

struct WriterOptions {
  Destination to;
  std::vector<FieldInfo> fields;          ///< of every sample, in this order
  std::vector<std::string> classes = {};  ///< names by label; empty: none
  bool has_keys = true;                   ///< false: the key of a sample is its number
  Resources resources = {};
};

/// Writes the samples that a program has, one by one, into a dataset: the same bytes as a
/// conversion of the same samples. Hashes and writes in threads of its own. No dataset is there
/// before finish() has returned. One thread at a time.
class Writer {
 public:
  /// Takes the output. Errors: Code::exists for an output that is taken; Code::usage;
  /// Code::schema, Code::unsupported for fields that the format cannot hold; Code::io.
  explicit Writer(const WriterOptions& options);
  /// Abandons what is not finished: no dataset, and no files of it, are left.
  ~Writer();
  Writer(Writer&& other) noexcept;
  Writer& operator=(Writer&& other) noexcept;

  /// Copies the values, one for each field, and waits where there is no room. A sample that is an
  /// error is not in the dataset, and the next one may be written. Errors: Code::schema for values
  /// that are not those of the fields; Code::limit for a sample that no shard can hold; those of
  /// the threads, such as Code::io; Code::interrupted.
  void write(std::string_view key, const std::vector<ValueView>& values,
             const Callbacks& callbacks = {});
  [[nodiscard]] std::uint64_t samples() const;

  /// Waits until the dataset is complete, durable, and in its place. Errors: Code::schema for a key
  /// that two samples have; those of the threads; Code::damaged where to.verify finds damage;
  /// Code::interrupted.
  [[nodiscard]] WrittenSet finish(const Callbacks& callbacks = {});

 private:
  std::unique_ptr<const Schema> schema_;
  std::unique_ptr<SampleWriter> writer_;
};

}  // namespace shale
