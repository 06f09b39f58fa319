#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  /// The samples come behind those of the finished dataset at to.path. What `to` does not say of
  /// the format and the shards is as the dataset has it; so are classes, if there are none here.
  bool append = false;
  /// Continues a run of the same options that was killed, or that did not get to finish():
  /// the shards that were whole are kept, see Writer::resumed_from(). Not for one file.
  bool resume = false;
  Resources resources = {};
};

/// A sample to be written. All is borrowed.
struct SampleView {
  std::string_view key;
  /// One for each field; nullopt for what an optional field lacks.
  std::vector<std::optional<ValueView>> values;
  /// In the same order, of a tensor whose field has free sides its shape, and anything of others;
  /// may be left out if there is no such field.
  std::vector<std::vector<std::uint64_t>> shapes = {};
};

/// Writes the samples that a program has, one by one, into a dataset: the same bytes as a
/// conversion of the same samples. Hashes and writes in threads of its own. No dataset is there
/// before finish() has returned. One thread at a time.
class Writer {
 public:
  /// Takes the output. Errors: Code::exists for an output that is taken, and for a run or a dataset
  /// of other options that is to be resumed; Code::mismatch for a dataset of other fields or
  /// classes that is to be appended to, Code::not_found where there is none; Code::usage;
  /// Code::schema, Code::unsupported for fields that the format cannot hold; Code::io.
  explicit Writer(const WriterOptions& options);
  /// Abandons what is not finished: no dataset, and no files of it, are left. With `resume` the
  /// shards that are whole stay for the next run.
  ~Writer();
  Writer(Writer&& other) noexcept;
  Writer& operator=(Writer&& other) noexcept;

  /// Copies the values, one for each field, and waits where there is no room. A sample that is an
  /// error is not in the dataset, and the next one may be written. Errors: Code::schema for values
  /// that are not those of the fields; Code::limit for a sample that no shard can hold; those of
  /// the threads, such as Code::io; Code::interrupted.
  void write(std::string_view key, const std::vector<ValueView>& values,
             const Callbacks& callbacks = {});
  void write(const SampleView& sample, const Callbacks& callbacks = {});
  /// Those included that an earlier run has written.
  [[nodiscard]] std::uint64_t samples() const;
  /// With `resume`: the number, from 0, of the sample to write first; those before it are written.
  [[nodiscard]] std::uint64_t resumed_from() const;

  /// Waits until the dataset is complete, durable, and in its place. Errors: Code::schema for a key
  /// that two samples have; those of the threads; Code::damaged where to.verify finds damage;
  /// Code::interrupted.
  [[nodiscard]] WrittenSet finish(const Callbacks& callbacks = {});

 private:
  std::unique_ptr<const Schema> schema_;
  std::unique_ptr<SampleWriter> writer_;
};

}  // namespace shale
