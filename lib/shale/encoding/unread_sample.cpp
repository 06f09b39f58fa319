#include "shale/encoding/unread_sample.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/encoding/archived_value.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/shards/unread_extent.hpp"

namespace shale {
namespace {

// A file that is open while it is read.
class OpenedForReading {
 public:
  explicit OpenedForReading(const std::string& path)
      : descriptor_(above_standard_descriptors(
            retried(path, [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }))) {}
  OpenedForReading(const OpenedForReading&) = delete;
  OpenedForReading& operator=(const OpenedForReading&) = delete;
  ~OpenedForReading() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// A value of a sample, or one element of a list, that the pipeline reads in pieces: a file of its
// own, or a part of an open one.
class UnreadValue final : public UnreadBytes {
 public:
  struct Place {
    std::string key;  // of the sample
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::string path = {};  // empty: it lies in the open file
    int descriptor = -1;
    std::uint64_t offset = 0;
    std::int64_t modified_ns = 0;
    ArchivedFile archived = {};
    std::shared_ptr<const void> keeps_open = nullptr;
    std::optional<std::uint32_t> crc32c = {};
  };

  UnreadValue(Place place, std::function<void()> step)
      : UnreadBytes(place.bytes, place.crc32c), place_(std::move(place)), step_(std::move(step)) {}

  void read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (place_.path.empty()) return read_from(place_.descriptor, offset, into);
    const OpenedForReading file(place_.path);
    if (file.descriptor() < 0) refuse({.bytes = 0, .error = errno});
    read_from(file.descriptor(), offset, into);
  }

 protected:
  void read_all(const std::function<void(Bytes)>& use) const override {
    if (place_.path.empty()) {
      if (!place_.archived.archive) return UnreadBytes::read_all(use);
      std::uint32_t found = 0;
      UnreadBytes::read_all([&](Bytes piece) {
        if (place_.archived.crc32) found = crc32(piece, found);
        use(piece);
      });
      place_.archived.archive->refuse_changes();
      return check_archived(place_.archived, place_.key, found);
    }
    check_listed(place_.path, size(), place_.modified_ns, place_.number);
    const OpenedForReading file(place_.path);
    if (file.descriptor() < 0) refuse({.bytes = 0, .error = errno});
    std::vector<std::byte> piece(std::min(kPieceBytes, size()));
    for (std::uint64_t done = 0; done < size();) {
      const auto next =
          std::span(piece).first(std::min<std::uint64_t>(piece.size(), size() - done));
      read_from(file.descriptor(), done, next);
      use(next);
      done += next.size();
    }
    std::array<std::byte, 1> more;
    const ReadResult behind = try_read(file.descriptor(), more, size(), file.descriptor());
    if (behind.error != 0 || behind.bytes != 0)
      refuse({.bytes = size() + behind.bytes, .error = behind.error});
    check_listed(place_.path, size(), place_.modified_ns, place_.number);
  }

  [[nodiscard]] Error wrong_checksum(std::uint32_t found, std::uint32_t expected) const override {
    if (place_.crc32c) return wrong_value(value(), found, expected);
    return changed_between_reads(size())
        .at(place_.path.empty() ? path_of(place_.descriptor) : place_.path)
        .for_sample(place_.key, place_.number);
  }

 private:
  [[nodiscard]] ValueRead value() const {
    return {place_.key,        place_.number, size(), place_.path.empty() ? nullptr : &place_.path,
            place_.descriptor, place_.offset};
  }
  [[noreturn]] void refuse(const ReadResult& result) const {
    check_read(value(), result);
    throw Error(Code::bug, "a read without an error is refused");
  }

  void read_from(int descriptor, std::uint64_t offset, std::span<std::byte> into) const {
    if (step_) step_();
    const ReadResult result = try_read(descriptor, into, place_.offset + offset, descriptor);
    if (result.error != 0 || result.bytes < into.size())
      refuse({.bytes = offset + result.bytes, .error = result.error});
  }

  Place place_;
  std::function<void()> step_;
};

// The values of one sample.
class UnreadValues {
 public:
  UnreadValues(const PendingSample& sample, std::uint64_t number, const SourceInfo& source,
               const std::function<void()>& step)
      : sample_(sample), number_(number), source_(source), step_(step) {}

  [[nodiscard]] Value of(std::size_t field) const {
    const bool is_list = source_.schema.fields[field].kind == Kind::list;
    std::vector<Unread> values;
    for (const PendingFile& file : sample_.files) {
      if (file.field == field) values.push_back(of_file(file));
    }
    if (values.empty() && is_list) return elements(field);
    if (values.empty()) return of_extent(field, sample_.cells[field].place, sample_.proves(field));
    if (is_list) return values;
    return values.front();
  }

 private:
  [[nodiscard]] Unread of_file(const PendingFile& file) const {
    UnreadValue::Place place{.key = sample_.key, .number = number_, .bytes = file.bytes};
    if (file.archived.archive) {
      const InputFile& archive = file.archived.archive->file();
      place.archived = file.archived;
      place.offset = file.archived.offset;
      place.descriptor = archive.descriptor();
      if (place.descriptor < 0) {
        const auto opened = std::make_shared<InputFile>(archive.path());
        place.descriptor = opened->descriptor();
        place.keeps_open = opened;
      }
    } else {
      place.path = file.path;
      place.modified_ns = file.modified_ns;
    }
    return std::make_shared<UnreadValue>(std::move(place), step_);
  }

  [[nodiscard]] Unread of_extent(std::size_t field, const FieldPlace& extent,
                                 bool has_crc32c) const {
    UnreadValue::Place place{.key = sample_.key,
                             .number = number_,
                             .bytes = extent.length,
                             .descriptor = sample_.descriptors[field],
                             .offset = extent.offset,
                             .keeps_open = sample_.keeps_open};
    if (has_crc32c) place.crc32c = extent.crc32c;
    return std::make_shared<UnreadValue>(std::move(place), step_);
  }

  // Of a list in one piece, which is proved as a whole before its headers are believed.
  [[nodiscard]] std::vector<Unread> elements(std::size_t field) const {
    const FieldPlace& list = sample_.cells[field].place;
    const Unread whole = of_extent(field, list, sample_.proves(field));
    if (sample_.proves(field)) whole->for_each_piece([](Bytes) {});
    return split_unread_list(
        *source_.container, whole, list,
        elements_of_field(sample_.elements, sample_.cells, source_.schema, field),
        [&](const FieldPlace& element) { return of_extent(field, element, false); });
  }

  const PendingSample& sample_;
  std::uint64_t number_;
  const SourceInfo& source_;
  const std::function<void()>& step_;
};

}  // namespace

Sample load_unread(Batch& batch, const SourceInfo& source, BatchReader& reader,
                   const std::function<void()>& step) {
  Sample sample = std::move(load_batch(batch, source, reader).front());
  const PendingSample& pending = batch.pending.front();
  if (!pending.lacks.empty() || !pending.damage.empty()) return sample;
  const UnreadValues values(pending, batch.first, source, step);
  for (std::size_t i = 0; i < source.schema.fields.size(); ++i) {
    if (stays_unread(pending, source, i)) sample.values[i] = values.of(i);
  }
  return sample;
}

}  // namespace shale
