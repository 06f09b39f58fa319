#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/sample.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// A stream has no list to make a fingerprint of: its samples say what it was.
[[nodiscard]] Hash128 fingerprint_of_stream(const DatasetDigest& digest);

/// Writes the samples that a program has, one by one, into a dataset: the same shards, indexes and
/// hashes as a conversion of the same samples. Reads, hashes and writes in threads of its own. No
/// dataset is there before finish() has returned. Killed, it leaves an unfinished one, which the
/// next writer with the same options and fields goes on with, if it `resumes`, or else clears.
/// Memory: request.memory_bytes.
class SampleWriter {
 public:
  /// Takes the output. Of the request: output, format and bounds of the shards, overwrite, verify,
  /// io, jobs, memory, generator. Errors: Code::exists for an output that is taken, or where
  /// another process works; Code::io.
  /// `resumes`: continues an earlier run of the same options and fields, which may have
  /// finished the dataset. What is abandoned then keeps its shards that are whole. Errors besides:
  /// Code::usage for an output that is one file; Code::exists for a finished dataset of other
  /// options.
  explicit SampleWriter(const ConvertRequest& request, bool resumes = false);
  /// Abandons what is not finished.
  ~SampleWriter();
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;

  /// The dataset that the samples come behind; null: none, or it is finished.
  [[nodiscard]] const Manifest* appended_to() const;
  /// How many samples an earlier run has written: the next one to add is that of this number. 0
  /// without `resumes`.
  [[nodiscard]] std::uint64_t resumed() const;
  /// The earlier run has finished the dataset: there is nothing to add.
  [[nodiscard]] bool is_complete() const;

  /// Before the first sample. Errors: Code::schema, Code::unsupported for a schema that the format
  /// cannot hold; Code::exists for an unfinished run of another command, or names that are taken.
  void begin(Schema schema, std::vector<std::string> classes);

  // As SampleQueue has them. Errors besides: Code::limit for a sample that no shard can hold; those
  // of the threads, such as Code::io.

  [[nodiscard]] bool try_add(const Sample& sample);
  void add(const Sample& sample, const Events& events);
  [[nodiscard]] std::uint64_t samples() const;

  /// Waits until the dataset is complete, durable, in its place, and verified if so requested.
  /// Errors: Code::schema naming a key that two samples have; those of the threads;
  /// Code::interrupted, as `events` says. After an error there is no dataset, or the old one.
  [[nodiscard]] ConvertReport finish(const Events& events);
  /// Leaves no dataset and no files, but for what can be resumed. Waits for the threads.
  void abandon() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
