#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

// Files that have a group (or a dataset) for each sample:
//   PARENT/NAME/PATH     a value of the sample NAME, at any depth; attributes of the group likewise
//   PARENT/NAME          a dataset that is a sample by itself
// A child process reads them, one sample after the other, in the natural order of their names, and
// sends what it finds through a pipe. Messages:
//   u8 1, text                       a sample begins: its name
//   u8 2, a value without its bytes  of that sample
//   u8 3, bytes                      the next of that value's; none if they are not wanted
//   u8 4, text                       what is neither a value nor a group: "link 'a/b'"
//   u8 5, u32 length, name, text     a sample, as far as it was sent, is lost: why

namespace shale {

/// A value of a sample.
struct Hdf5SampleValue {
  enum class Form : std::uint8_t {
    number,    ///< an array of numbers, or one: C order, little-endian
    text,      ///< one string
    texts,     ///< an array of strings: u32 length and bytes of each
    sequence,  ///< an array of one axis that is stored as one element
    other      ///< nothing that a field can hold: `type_name` says it in words
  };
  std::string path;  ///< below the group of the sample: "obs/image"; empty if it is the sample
  Form form = Form::other;
  std::string descr, type_name;
  std::vector<std::uint64_t> shape;
  bool is_utf8 = true;      ///< of strings: all are
  std::uint64_t bytes = 0;  ///< how many the value has; not known of strings until it is read
  std::vector<std::byte> data = {};
  std::uint64_t offset = 0;  ///< in the file, where it is read in place; no part of a message
};

struct Hdf5WalkedSample {
  std::string name;
  std::vector<Hdf5SampleValue> values;
};

enum class Hdf5SampleMessage : std::uint8_t {
  sample = 1,
  value = 2,
  bytes = 3,
  other = 4,
  lost = 5
};
/// Of a value all but its bytes.
[[nodiscard]] std::vector<std::byte> encode_sample_value(const Hdf5SampleValue& value);

inline constexpr std::size_t kMostObjectsOfASample = 1024;

/// What to walk. An empty `wanted` takes every path.
struct Hdf5SampleWalk {
  std::string parent;
  std::string file = {};  ///< not empty: all of the file is one sample of this name
  bool reads_values = false, takes_attributes = false;
  std::uint64_t most_bytes = 0;  ///< of one value
  std::function<bool(const std::string& path)> wants = {};
  /// Not null: the file may be damaged. Samples that cannot be read are told, in every walk.
  std::function<void(std::string name, std::string why)> lose = {};
};

/// Puts samples together from the messages, which are not trusted. Memory: that of one sample.
class Hdf5SampleReceiver {
 public:
  using Take = std::function<void(Hdf5WalkedSample&&)>;
  using Other = std::function<void(const std::string&)>;
  Hdf5SampleReceiver(const Hdf5SampleWalk& walk, Take take, Other other)
      : walk_(walk), take_(std::move(take)), other_(std::move(other)) {}

  /// Errors: Code::damaged for a message that makes no sense; Code::limit for a sample of more than
  /// Hdf5SampleWalk::most_bytes; those of `take`.
  void take(Bytes message);
  /// After the last message.
  void finish();

 private:
  void take_value(ByteReader& in);

  const Hdf5SampleWalk& walk_;
  Take take_;
  Other other_;
  std::optional<Hdf5WalkedSample> sample_;
  std::uint64_t held_bytes_ = 0;
};

/// Hands out the samples of a file, as Hdf5SampleReceiver does. `ask` is called at least ten times
/// a second, and may throw, to stop.
using WalkHdf5Samples =
    std::function<void(const Hdf5SampleWalk& walk, const Hdf5SampleReceiver::Take& take,
                       const Hdf5SampleReceiver::Other& other, const std::function<void()>& ask)>;

}  // namespace shale
