#pragma once

#include <memory>

#include "shale/format/format.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/convert_request.hpp"

namespace shale {

/// Where a stream of samples comes to stand: a directory of shards, or one file.
class SampleOutput {
 public:
  /// Without publish() nothing is left of it.
  virtual ~SampleOutput() = default;
  [[nodiscard]] virtual WorkFolder& work() = 0;
  /// Errors: Code::schema, Code::unsupported for what this output cannot hold; Code::exists for an
  /// unfinished run of another command, or names that are taken.
  virtual void begin(const SourceInfo& info, const Manifest& wanted) = 0;
  /// How it is divided.
  [[nodiscard]] virtual ShardSetWriter::Options division() const = 0;
  /// Writes the files next to the samples, which are already written, and moves all into place;
  /// verifies it, if that is requested. Errors: Code::damaged; Code::exists; Code::io;
  /// Code::interrupted.
  virtual void publish(ConvertReport& report, const Events& events) = 0;
};

/// Takes `request.output`; the request outlives it. Errors: Code::exists for an output that is
/// taken, or where another process works; Code::io.
[[nodiscard]] std::unique_ptr<SampleOutput> take_output(const ConvertRequest& request,
                                                        const Format& format);

}  // namespace shale
