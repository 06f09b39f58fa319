#include "shale/arrays/array_writers.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/deflate.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_writer.hpp"

// The records are drawn in wire/zip_directory.hpp, which reads them. Sizes and checksums of a
// member are known behind it: its local header is patched.

namespace shale {
namespace {

constexpr std::uint64_t kReadAtOnce = 1 << 20;

ZipEntry add_member(OutputFile& archive, const NpzMember& member, bool is_deflated,
                    const std::function<void()>& stop_if_asked) {
  const InputFile file(member.path);
  ZipEntry entry{.name = member.name,
                 .is_deflated = is_deflated,
                 .is_wide = file.size() > kMostNarrowZipBytes,
                 .offset = archive.size(),
                 .bytes = file.size()};
  archive.append(zip_local_header(entry));
  const std::uint64_t begin = archive.size();
  const auto append = [&](Bytes bytes) { archive.append(bytes); };
  Deflater deflater;
  visit_file_pieces(file, 0, file.size(), [&](Bytes some) {
    entry.crc32 = crc32(some, entry.crc32);
    if (is_deflated) {
      deflater.deflate(some, append);
    } else {
      append(some);
    }
    stop_if_asked();
  });
  if (is_deflated) deflater.finish(append);
  entry.stored = archive.size() - begin;
  archive.patch(entry.offset, zip_local_header(entry));
  return entry;
}

}  // namespace

void visit_file_pieces(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                       const std::function<void(Bytes)>& sink) {
  std::vector<std::byte> piece(std::min(kReadAtOnce, bytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const auto some = std::span(piece).first(std::min(kReadAtOnce, bytes - done));
    file.read_exact(offset + done, some);
    done += some.size();
    sink(some);
  }
}

void write_npz(OutputFile& archive, const std::vector<NpzMember>& members, bool is_deflated,
               const std::function<void()>& stop_if_asked) {
  ByteWriter directory;
  for (const NpzMember& member : members) {
    append_zip_directory_entry(directory, add_member(archive, member, is_deflated, stop_if_asked));
    remove_file(member.path);
  }
  const std::uint64_t begin = archive.size(), bytes = directory.size();
  append_zip_end(directory, members.size(), begin, bytes);
  archive.append(directory.bytes());
}

std::uint64_t npz_bytes(const std::vector<NpzMemberSize>& members) {
  ByteWriter directory;
  std::uint64_t bytes = 0;
  for (const NpzMemberSize& member : members) {
    const ZipEntry entry{.name = member.name,
                         .is_wide = member.bytes > kMostNarrowZipBytes,
                         .offset = bytes,
                         .bytes = member.bytes,
                         .stored = member.bytes};
    bytes += zip_local_header(entry).size() + member.bytes;
    append_zip_directory_entry(directory, entry);
  }
  const std::uint64_t of_entries = directory.size();
  append_zip_end(directory, members.size(), bytes, of_entries);
  return bytes + directory.size();
}

void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked) {
  std::vector<std::uint32_t> crc32s(columns.size());
  for (const std::size_t column : frame.places) {
    const std::uint64_t begin = file.size();
    file.append(frame.head(column, 0));
    {
      const InputFile rows(columns[column].path);
      visit_file_pieces(rows, columns[column].offset, frame.rows_bytes(column), [&](Bytes piece) {
        if (frame.has_checksums()) crc32s[column] = crc32(piece, crc32s[column]);
        file.append(piece);
        stop_if_asked();
      });
    }
    if (frame.has_checksums()) file.patch(begin, frame.head(column, crc32s[column]));
    remove_file(columns[column].path);
  }
  file.append(frame.trailer(crc32s));
}

}  // namespace shale
