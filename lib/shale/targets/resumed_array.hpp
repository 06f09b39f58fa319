#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/targets/file_output.hpp"

namespace shale {

/// An array that is written in order, row after row, into an output that a later run of the same
/// command goes on with: the journal says how much of it is durable. One thread.
class ResumedArray {
 public:
  /// `frame` is of one column. If the format has a checksum, the bytes already written are read
  /// again; `stop_if_asked` is called for each MiB of them. The output, which has a journal, and
  /// the frame outlive it. Errors: Code::io; those of `stop_if_asked`.
  ResumedArray(TemporaryOutput& output, const OutputFile::Options& options,
               const TensorFrame& frame, const std::function<void()>& stop_if_asked);

  /// Bytes of rows that are there already: append() what comes behind them.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] bool is_complete() const { return !file_; }
  void append(Bytes rows);
  /// Makes durable what there is, so that a later run need not write it again.
  void stop();
  /// It is complete and durable. Errors: Code::bug if it does not have all rows.
  void finish();

 private:
  void note(std::uint64_t durable);

  TemporaryOutput& output_;
  const TensorFrame& frame_;
  const std::uint64_t head_bytes_;
  std::uint64_t noted_ = 0;
  std::uint32_t crc32_ = 0;         // of the rows, where the file has it
  std::optional<OutputFile> file_;  // nullopt: complete
};

}  // namespace shale
