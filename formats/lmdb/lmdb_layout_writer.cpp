#include "formats/lmdb/lmdb_layout_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/image/probe.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/layouts/layout_values.hpp"
#include "shale/layouts/value_spool.hpp"
#include "shale/layouts/written_layouts.hpp"
#include "shale/wire/msgpack_sample.hpp"
#include "shale/wire/pickle_writer.hpp"

#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_shape.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostNameBytes = 32 << 20;

class LayoutFileWriter : public ShardWriter {
 public:
  explicit LayoutFileWriter(OutputFile& file) : pages_(file) { pages_.leave_empty_state(); }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (samples_ == kMaxLmdbSamples) {
      throw Error(Code::limit, "the layout numbers at most {} samples", kMaxLmdbSamples)
          .for_sample(record.key, samples_);
    }
    take(record, samples_);
    ++samples_;
    return kNowhere;
  }
  ClosedShard close() override {
    describe();
    (void)pages_.close();
    return {};
  }

 protected:
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] lmdb::LmdbPageWriter& pages() { return pages_; }

  void add(std::string_view key, const Blob& value) { (void)pages_.add(as_bytes(key), value); }
  void add(std::string_view key, std::string_view value) {
    Blob blob;
    blob.append_view(as_bytes(value));
    add(key, blob);
  }
  /// A value of known size, in pieces.
  template <class Produce>
  void add_in_pieces(std::string_view key, std::uint64_t bytes, Produce produce) {
    if (!lmdb::is_big(key.size(), bytes)) {
      std::string value;
      produce([&](std::string_view piece) { value += piece; });
      return add(key, value);
    }
    const std::uint64_t page = pages_.begin_value(bytes);
    std::string buffer;
    produce([&](std::string_view piece) {
      buffer += piece;
      if (buffer.size() < (64 << 10)) return;
      pages_.append_value(as_bytes(buffer));
      buffer.clear();
    });
    pages_.append_value(as_bytes(buffer));
    pages_.end_value(bytes);
    pages_.add_placed(as_bytes(key), page, bytes);
  }

 private:
  virtual void take(const Record& record, std::uint64_t number) = 0;
  // The entries that describe the file, all larger than the keys of samples.
  virtual void describe() {}

  static constexpr std::array<std::uint64_t, 1> kNowhere = {0};
  lmdb::LmdbPageWriter pages_;
  std::uint64_t samples_ = 0;
};

class CaffeWriter final : public LayoutFileWriter {
 public:
  using LayoutFileWriter::LayoutFileWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    const std::string key = fmt::format("{:08}_{}", number, record.key);
    if (key.size() > lmdb::kMaxKeyBytes) {
      throw Error(Code::limit, "its key of {} bytes is longer than LMDB's limit of {}", key.size(),
                  lmdb::kMaxKeyBytes)
          .for_sample(record.key, number);
    }
    add(key, record.parts.front());
  }
};

// Nothing but images. Of the hashes that are LSUN's own keys, the order would not be that of the
// samples.
class LsunWriter final : public LayoutFileWriter {
 public:
  using LayoutFileWriter::LayoutFileWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    add(fmt::format("{:08}", number), record.parts.front());
  }
};

class CoclrWriter final : public LayoutFileWriter {
 public:
  using LayoutFileWriter::LayoutFileWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    add(fmt::format("{:09}", number), record.parts.front());
    names_ += msgpack_bin_header(record.key.size()) + record.key;
    lengths_ += msgpack_number(0xce, record.row.cells[list_in(record)].place.count, 4);
    if (names_.size() + lengths_.size() > kMostNameBytes) {
      throw Error(Code::limit, "names of videos of more than {} bytes", kMostNameBytes)
          .for_sample(record.key, number);
    }
  }
  static std::size_t list_in(const Record& record) {
    return record.row.cells[0].place.offset == kMissing ? 1 : 0;
  }

  void describe() override {
    constexpr std::uint64_t kKeyBytes = 5 + 9;
    add_in_pieces("__keys__", 5 + samples() * kKeyBytes, [&](const auto& piece) {
      piece(msgpack_array_header(samples()));
      for (std::uint64_t i = 0; i < samples(); ++i)
        piece(msgpack_bin_header(9) + fmt::format("{:09}", i));
    });
    add("__len__", msgpack_number(0xce, samples(), 4));
    add("__order__", msgpack_array_header(samples()) + names_);
    add("__vlen__", msgpack_array_header(samples()) + lengths_);
  }

  std::string names_, lengths_;
};

// Of samples that do not come in the order of their keys: large values are written as they come,
// small ones wait.
class SpoolingWriter : public LayoutFileWriter {
 public:
  explicit SpoolingWriter(OutputFile& file)
      : LayoutFileWriter(file), spool_(file.path().substr(0, file.path().rfind('/') + 1)) {}

 protected:
  [[nodiscard]] layouts::ValueSpool::Place hold(std::size_t key_bytes, const Blob& value) {
    const bool is_big = lmdb::is_big(key_bytes, value.size());
    return {is_big ? write_big(value) : spool_.add_small(value), value.size()};
  }
  void place(std::string_view key, const layouts::ValueSpool::Place& place) {
    if (lmdb::is_big(key.size(), place.bytes))
      return pages().add_placed(as_bytes(key), place.at, place.bytes);
    const std::vector<std::byte> value = spool_.small(place);
    add(key, as_text(value));
  }
  [[nodiscard]] layouts::ValueSpool& spool() { return spool_; }

 private:
  std::uint64_t write_big(const Blob& value) {
    const std::uint64_t page = pages().begin_value(value.size());
    value.for_each_piece([&](Bytes piece) { pages().append_value(piece); });
    pages().end_value(value.size());
    return page;
  }

  layouts::ValueSpool spool_;
};

// Keys are numbers without leading zeros: not the order in which samples come.
class XungeWriter final : public SpoolingWriter {
 public:
  using SpoolingWriter::SpoolingWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    spool().add(hold(std::to_string(number).size(), record.parts.front()));
  }

  void describe() override {
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i < samples(); ++i) {
      place(std::to_string(number), spool().place(number));
      number = number == 0 ? 1 : layouts::next_by_digits(number, samples());
    }
    std::uint64_t bytes = 6;
    for (std::uint64_t i = 0; i < samples(); ++i) bytes += 2 + digits(i);
    PickleWriter length(3);
    length.write_integer(static_cast<std::int64_t>(samples()));
    length.stop();
    add_in_pieces("__keys__", bytes, [&](const auto& piece) {
      piece(std::string_view("\x80\x03](", 4));
      for (std::uint64_t i = 0; i < samples(); ++i) {
        const std::string key = std::to_string(i);
        piece(std::string{'C', static_cast<char>(key.size())} + key);
      }
      piece("e.");
    });
    add("__len__", std::string(as_text(length.take())));
  }

  static std::uint64_t digits(std::uint64_t number) {
    std::uint64_t count = 1;
    for (; number >= 10; number /= 10) ++count;
    return count;
  }
};

// Keys are the names of the images without their suffixes, whose order is another one.
// Source: BasicSR, basicsr/utils/lmdb_util.py and basicsr/data/data_util.py (readers take what is
// in front of the first dot of a line of meta_info.txt for the key).
class BasicsrWriter final : public SpoolingWriter {
 public:
  explicit BasicsrWriter(OutputFile& file)
      : SpoolingWriter(file),
        keys_(file.path().substr(0, file.path().rfind('/') + 1), kMemoryOfKeys) {}

 private:
  static constexpr std::uint64_t kMemoryOfKeys = 8 << 20;
  static constexpr char kEnd = '\0';  // of a key, before every byte that it has

  void take(const Record& record, std::uint64_t number) override {
    const std::string key(has_image_suffix(record.key)
                              ? std::string_view(record.key).substr(0, record.key.rfind('.'))
                              : record.key);
    const std::string_view unfit(".\n\0", 3);
    if (key.empty() || key.size() > lmdb::kMaxKeyBytes ||
        key.find_first_of(unfit) != std::string::npos) {
      throw Error(
          Code::schema,
          "its key without the suffix has {} bytes, expected 1 to {}, and no dot among them: "
          "BasicSR's readers take what is in front of the first dot",
          key.size(), lmdb::kMaxKeyBytes)
          .for_sample(record.key, number)
          .hint("rename the file");
    }
    const layouts::ValueSpool::Place place = hold(key.size(), record.parts.front());
    keys_.add(key + kEnd + std::string(as_text(std::as_bytes(std::span(&place, 1)))));
  }

  void describe() override {
    keys_.finish();
    std::string last;
    while (const std::optional<std::string_view> entry = keys_.next()) {
      const std::size_t end = entry->find(kEnd);
      const std::string key(entry->substr(0, end));
      if (key == last) {
        throw Error(Code::schema,
                    "two images have the key '{}', which is their name without suffix",
                    printable(key))
            .hint("rename one of them");
      }
      layouts::ValueSpool::Place at;
      std::memcpy(&at, entry->data() + end + 1, sizeof at);
      place(key, at);
      last = key;
    }
  }

  ExternalSorter keys_;
};

// "0001_s001.png (480,480,3) 1": height, width, channels as OpenCV reads them, PNG's compression.
std::string basicsr_line(std::string_view key, Bytes value) {
  const ImageInfo image = probe_image(value, {});
  if (image.width == 0 || image.height == 0) return {};
  const bool is_gray = image.color == "gray" || image.color == "bilevel";
  const bool has_alpha = image.color == "rgba" || image.color == "gray-alpha";
  return fmt::format("{}.png ({},{},{}) 1\n", key, image.height, image.width,
                     is_gray     ? 1
                     : has_alpha ? 4
                                 : 3);
}

template <class Writer>
std::unique_ptr<ShardWriter> create_writer(OutputFile& file) {
  return std::make_unique<Writer>(file);
}

// What is written: a row per layout.
struct WrittenLayout {
  Layout row;
  Kind kind;  // of the field beside the label
  Record (*encode)(const Sample&, const Schema&);
  std::unique_ptr<ShardWriter> (*create)(OutputFile& file);
  bool has_no_label = false;
};

constexpr WrittenLayout kWritten[] = {
    {layouts::coclr_file(), Kind::list, encode_video, create_writer<CoclrWriter>},
    {layouts::coclr_directory(), Kind::list, encode_video, create_writer<CoclrWriter>},
    {layouts::in_one_file("xunge", "for folder2lmdb"), Kind::bytes, encode_pickled_pair,
     create_writer<XungeWriter>},
    {layouts::in_one_file("caffe", "for Caffe"), Kind::bytes, encode_datum,
     create_writer<CaffeWriter>},
    {layouts::lsun_directories(), Kind::bytes, encode_image, create_writer<LsunWriter>},
    {layouts::basicsr_file(".lmdb", basicsr_line), Kind::bytes, encode_image,
     create_writer<BasicsrWriter>, true}};

const WrittenLayout& written_layout(std::string_view option) {
  for (const WrittenLayout& written : kWritten)
    if (written.row.option == option) return written;
  throw Error(Code::usage, "layout '{}' is not written", option);
}

}  // namespace

const Layout* const kLmdbLayouts[] = {&kWritten[0].row, &kWritten[1].row, &kWritten[2].row,
                                      &kWritten[3].row, &kWritten[4].row, &kWritten[5].row};

void check_fits_layout(std::string_view layout, const Schema& schema) {
  const Kind wanted = written_layout(layout).kind;
  if (written_layout(layout).has_no_label) {
    if (schema.fields.size() == 1 && schema.fields[0].kind == wanted) return;
    throw Error(Code::unsupported, "layout {} holds an image, and no other field", layout)
        .hint("name the field of the images with --fields");
  }
  bool fits = schema.fields.size() == 2;
  if (fits) {
    const ImageAndLabel at = places_in(schema);
    fits = schema.fields[at.image].kind == wanted && schema.fields[at.label].kind == Kind::integer;
  }
  if (fits) return;
  const bool is_list = wanted == Kind::list;
  throw Error(Code::unsupported, "layout {} holds {} and an integer label, and no other field",
              layout, is_list ? "a list of frames" : "an image")
      .hint(is_list ? "convert a folder of frames with --group frames" : kTwoFieldsHint);
}

Record encode_layout_value(std::string_view layout, const Sample& sample, const Schema& schema) {
  Record record = written_layout(layout).encode(sample, schema);
  record.row.record_offset = 0;
  record.row.record_length = record.parts[0].size();
  return record;
}

std::unique_ptr<ShardWriter> create_layout_file(std::string_view layout, OutputFile& file) {
  return written_layout(layout).create(file);
}

}  // namespace shale
