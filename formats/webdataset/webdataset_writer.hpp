#pragma once

#include <memory>
#include <span>
#include <string>

#include "shale/format/format.hpp"

namespace shale {

/// The members of a sample, one after the other, as the record's only part. Row places count from
/// its first byte. Errors: Code::limit, naming the sample, for a name of more than 4095 bytes, a
/// key longer than 64 KiB, and a list of more than kMaxElements.
[[nodiscard]] Record encode_webdataset(const Sample& sample, const Schema& schema,
                                       const OptionSet& options);

[[nodiscard]] std::unique_ptr<ShardSizer> create_webdataset_sizer(const Schema& schema,
                                                                  const OptionSet& options);

[[nodiscard]] std::unique_ptr<ShardWriter> create_webdataset_shard(std::span<OutputFile> files,
                                                                   const Schema& schema,
                                                                   const OptionSet& options);

/// The content of a .cls and of a .json of one number, as Python's json and int() read them. JSON
/// has only one NaN; others have their bits in a PAX record, kRealRecord.
[[nodiscard]] std::string integer_text(std::int64_t value);
[[nodiscard]] std::string real_text(double value);
/// 16 hexadecimal digits; empty for a number whose text says everything.
[[nodiscard]] std::string bits_of_nan(double value);

/// Where the key of the sample is in its first member: the target of a link, which nobody reads of
/// a file; longer ones, and those with a NUL, in a PAX record.
[[nodiscard]] bool fits_target(std::string_view key);

/// The value of the format's layout option that keeps the suffixes of images in names.
inline constexpr std::string_view kWholeKeys = "whole-keys";
[[nodiscard]] bool keeps_suffixes(const OptionSet& options);

}  // namespace shale
