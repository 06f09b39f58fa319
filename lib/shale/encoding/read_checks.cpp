#include "shale/encoding/read_checks.hpp"

#include <cerrno>

#include "shale/base/error.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

Error changed_file(std::string_view how, std::uint64_t bytes) {
  return Error(Code::io, "file has {}: it had {} bytes when it was listed", how, bytes);
}

}  // namespace

void check_read(const ValueRead& value, const ReadResult& result) {
  const bool is_file = value.path != nullptr;
  // Of an image folder the path says which sample it is.
  const std::string key = is_file && value.path->ends_with(value.key) ? "" : value.key;
  if (is_file && result.error == ENOENT) {
    throw changed_file("gone", value.bytes)
        .at(*value.path)
        .for_sample(key, value.number)
        .hint(
            "restore it and run the same command again, or pass --overwrite to start again with "
            "the input as it is now");
  }
  if (result.error != 0) {
    throw read_failed(is_file ? *value.path : path_of(value.descriptor),
                      is_file && !is_hiccup(result.error)
                          ? std::nullopt
                          : std::optional(value.offset + result.bytes),
                      value.bytes, result.error)
        .for_sample(key, value.number)
        .hint(
            "storage errors stop the run, so that no sample is lost; run the same command "
            "again");
  }
  if (result.bytes == value.bytes) return;
  throw changed_file(
      result.bytes < value.bytes ? fmt::format("shrunk to {} bytes", result.bytes) : "grown",
      value.bytes)
      .at(is_file ? *value.path : path_of(value.descriptor))
      .for_sample(key, value.number)
      .hint(
          "something is writing to the input; wait until it stops, then run the same command "
          "again");
}

void check_listed(const std::string& path, std::uint64_t bytes, std::int64_t modified_ns,
                  std::uint64_t number) {
  if (modified_ns == 0) return;
  const std::optional<FileStamp> stamp = stamp_of(path);
  if (!stamp || *stamp == FileStamp{}) return;  // reading it says more
  if (stamp->bytes == bytes && stamp->modified_ns == modified_ns) return;
  throw Error(Code::mismatch, "file has changed since the input was listed: it {}",
              stamp->bytes != bytes ? fmt::format("had {} bytes and has {}", bytes, stamp->bytes)
                                    : "was modified in between")
      .at(path)
      .for_sample("", number)
      .hint(
          "restore the file as it was (size and time of modification), or pass --overwrite to "
          "start again with the input as it is now");
}

Error wrong_value(const ValueRead& value, std::uint32_t found, std::uint32_t expected) {
  return checksum_mismatch(value.bytes, found, expected)
      .error()
      .at(path_of(value.descriptor), value.offset)
      .for_sample(value.key, value.number)
      .hint("run 'shale verify' on the input to list all the damage");
}

}  // namespace shale
