#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace shale {

/// The kind of an error: it decides the exit code and what --on-error may do about it.
enum class Code {
  usage,        ///< wrong arguments or options (exit 2)
  unsupported,  ///< well-formed, but nothing here can do it
  not_found,    ///< no such file, key or row
  exists,       ///< the target already exists
  io,           ///< the storage failed: never skipped, always worth a retry
  damaged,      ///< bytes differ from what was written, or violate their format (exit 3)
  bad_content,  ///< a sample of the input is invalid: --on-error decides what happens
  schema,       ///< a sample does not fit the schema
  limit,        ///< a size, count or budget is exceeded
  mismatch,     ///< two things that should agree do not (other options, other inputs)
  interrupted,  ///< a signal asked to stop (exit 130)
  bug,          ///< a promise inside shale was broken (exit 70)
};

/// Which sample an error or finding is about.
struct SampleId {
  std::string key;                     ///< raw bytes, empty where unknown
  std::optional<std::uint64_t> index;  ///< 0-based, over the dataset
};

/// The text of a message, checked against its arguments. Only shale itself makes errors:
/// base/error.hpp defines it, by fmt.
template <class... Args>
struct MessageFormat;

/// The exception of shale: thrown where the fact is known, enriched with place and hint on the
/// way up. The hint is printed on a line of its own.
/// what() reads "file: byte N: sample 'key': message: cause".
class Error : public std::exception {
 public:
  template <class... Args>
  Error(Code code, std::type_identity_t<MessageFormat<Args...>> format, Args&&... args);

  /// Sets the place, unless a more specific one is already set; fills in an offset only for the
  /// same file.
  Error& at(std::string_view file, std::optional<std::uint64_t> offset = std::nullopt);
  Error& for_sample(std::string_view key, std::optional<std::uint64_t> index = std::nullopt);
  Error& because(std::string_view cause);
  /// Takes the cause from an errno value.
  Error& because_errno(int error_number);
  Error& hint(std::string_view hint);

  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::optional<std::uint64_t> offset() const { return offset_; }
  [[nodiscard]] const std::optional<SampleId>& sample() const { return sample_; }
  [[nodiscard]] const std::string& cause() const { return cause_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  Error(Code code, std::string message, int);
  void rebuild();

  Code code_;
  std::string message_, file_, cause_, hint_, what_;
  std::optional<std::uint64_t> offset_;
  std::optional<SampleId> sample_;
};

/// One fault of a dataset. Findings are collected, errors stop the work.
struct Finding {
  std::string message;                  ///< the fact, in words
  std::string file;                     ///< the file it is in, relative to the dataset
  std::optional<std::uint64_t> offset;  ///< byte in that file
  std::optional<std::uint64_t> length;  ///< the number of doubtful bytes from there on
  std::string shard;                    ///< "shard-000007", empty if it is not about one shard
  std::optional<std::uint64_t> row;     ///< 0-based row in that shard
  std::optional<SampleId> sample;
  std::string field;
  std::string expected, found;  ///< both sides of the disagreement, as text
};

/// "file: byte N: sample 'key': field 'f': message: found X, expected Y".
[[nodiscard]] std::string describe(const Finding& finding);

}  // namespace shale
