#pragma once

#include <cstdint>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/io/output_file.hpp"
#include "shale/ops/file_output.hpp"

namespace shale {

/// An array that is written in order, from its header on, into an output that a later run of the
/// same command goes on with: the journal says how much of it is durable. One thread.
class ResumedArray {
 public:
  /// Of `all_bytes` bytes. The output, which has a journal, outlives it. Errors: Code::io.
  ResumedArray(TemporaryOutput& output, const OutputFile::Options& options,
               std::uint64_t all_bytes);

  /// Bytes that are there already: append() what comes behind them.
  [[nodiscard]] std::uint64_t size() const { return file_ ? file_->size() : all_bytes_; }
  [[nodiscard]] bool is_complete() const { return !file_; }
  void append(Bytes bytes);
  /// Makes durable what there is, so that a later run need not write it again.
  void stop();
  /// It is complete and durable. Errors: Code::bug if it is not of all bytes.
  void finish();

 private:
  void note(std::uint64_t durable);

  TemporaryOutput& output_;
  const std::uint64_t all_bytes_;
  std::uint64_t noted_ = 0;
  std::optional<OutputFile> file_;  // nullopt: complete
};

}  // namespace shale
