#include "shale/io/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/background_writer.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

// O_DIRECT wants addresses, offsets and lengths in multiples of the device's logical block: 512 or
// 4096.
constexpr std::uint64_t kAlignment = kDirectAlignment;
// Bytes are hashed in steps of this size, while they are still in the first caches from being
// copied.
constexpr std::uint64_t kHashStep = 64 * 1024;
static_assert(kBlockBytes % kHashStep == 0);
constexpr std::uint64_t kLargestBuffer = std::uint64_t{1} << 30;

/// Takes O_DIRECT off a descriptor while it lives, for accesses that are not aligned.
/// Coherent: a direct write puts pages that a buffered access left in the cache on the disk first,
/// and drops them.
class BufferedForNow {
 public:
  BufferedForNow(int descriptor, bool is_direct) : descriptor_(descriptor), is_direct_(is_direct) {
    if (is_direct_) set(false);
  }
  ~BufferedForNow() {
    if (is_direct_) set(true);
  }
  BufferedForNow(const BufferedForNow&) = delete;
  BufferedForNow& operator=(const BufferedForNow&) = delete;
  void keep() { is_direct_ = false; }

 private:
  void set(bool direct) const {
    const int flags = ::fcntl(descriptor_, F_GETFL);
    ::fcntl(descriptor_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
  }
  int descriptor_;
  bool is_direct_;
};

// A file of its own: never one that stands there, nor what a link leads to.
int create_file(const std::string& path) {
  const int descriptor = above_standard_descriptors(retried(path, [&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }));
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  throw because_of_room(Error(Code::io, "cannot be created"), path, error);
}

// It can only be written to, or has no place to write at.
bool is_for_writing_alone(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return (flags & O_ACCMODE) == O_WRONLY || ::lseek(descriptor, 0, SEEK_CUR) < 0;
}

bool set_direct(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0;
}

}  // namespace

Hash128 hash_of_blocks(std::span<const Hash128> blocks) {
  Hasher128 hasher;
  for (const Hash128& block : blocks) hasher.update(block.bytes());
  return hasher.digest();
}

struct OutputFile::Impl {
  Impl(int descriptor_, std::string path_, const Options& options_);
  ~Impl() {
    if (descriptor >= 0) ::close(descriptor);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void prepare();
  void go_direct();
  void require_usable() const;
  template <class Fill>
  void grow(std::uint64_t count, Fill fill);
  void hash_pending();
  void start_write();
  struct UnfinishedWrite {
    std::uint64_t offset;
    Bytes bytes;
  };
  void take_outcome(std::vector<UnfinishedWrite>& unfinished);
  void wait_for_one();
  void wait_for_all();
  void write_now(Bytes bytes, std::uint64_t offset);
  void write_to_stream(Bytes bytes, std::uint64_t offset);
  void write_unaligned(Bytes bytes, std::uint64_t offset);
  void require_appended(std::uint64_t offset, std::uint64_t count) const;
  void read_range(std::uint64_t offset, std::span<std::byte> into);
  void hash_again(std::uint64_t begin, std::uint64_t end);
  std::uint64_t flush();
  std::uint64_t sync();
  FileSummary finish();
  void make_durable(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t size() const { return buffer_offset + filled; }
  [[nodiscard]] std::byte* buffer(std::uint32_t slot) const {
    return buffers.data() + slot * options.buffer_bytes;
  }

  struct Write {
    std::uint64_t offset = 0;
    bool under_way = false;
  };

  const std::string path;
  const Options options;
  int descriptor = -1;
  const bool is_stream;
  bool is_direct = false;
  bool was_full = false;  // a buffer
  bool is_broken =
      false;  // a write failed, or the file is finished: nothing more may be asked of it
  // One piece for all buffers; pages are not there before they are first filled.
  AlignedBuffer memory;
  std::span<std::byte> buffers;
  std::vector<Write> writes;  // a buffer each
  std::uint32_t writes_under_way = 0;
  std::uint32_t current = 0;        // the buffer that is being filled
  std::uint64_t buffer_offset = 0;  // its place in the file
  std::uint64_t filled = 0;
  bool lacks_hashes = false;  // its beginning was written by an earlier run
  std::uint64_t hashed = 0;   // bytes of the file that have gone through the hasher
  Hasher128 hasher;  // of the block that begins at the last multiple of kBlockBytes <= hashed
  std::vector<Hash128> blocks;
  std::optional<BackgroundWriter>
      background;  // made when the first buffer is full; goes before `memory`
};

OutputFile::Impl::Impl(int descriptor_, std::string path_, const Options& options_)
    : path(std::move(path_)),
      options(options_),
      descriptor(descriptor_),
      is_stream(is_for_writing_alone(descriptor_)),
      writes(options_.buffers) {}

void OutputFile::Impl::prepare() {
  if (options.buffers < 1 || options.buffer_bytes < kAlignment ||
      options.buffer_bytes % kAlignment != 0 || options.buffer_bytes > kLargestBuffer) {
    throw Error(Code::bug, "{} write buffers of {} bytes", options.buffers, options.buffer_bytes)
        .at(path);
  }
  buffers = memory.require(options.buffers * options.buffer_bytes);
  if (is_stream) return;
  if (options.io == IoMode::direct) go_direct();
  // Blocks are read back only to be hashed again: without this, 1 MiB drags the device's whole
  // read-ahead (8 MiB on some machines) into the page cache.
  (void)::posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
}

// Not before a buffer is full, unless it was asked for: a small file takes fewer calls, and waits
// for the disk only once.
void OutputFile::Impl::go_direct() {
  is_direct = set_direct(descriptor);
  if (is_direct || options.io != IoMode::direct) return;
  const int error = errno;
  throw Error(Code::io, "this file system refuses direct writes")
      .at(path)
      .because_errno(error)
      .hint("use --io auto or --io buffered");
}

void OutputFile::Impl::require_usable() const {
  if (is_broken) throw Error(Code::bug, "used after it was finished or a write failed").at(path);
}

/// Calls fill(to, count) on the free pieces of the buffers, one after the other.
template <class Fill>
void OutputFile::Impl::grow(std::uint64_t count, Fill fill) {
  require_usable();
  while (count > 0) {
    if (filled == 0) {
      while (writes[current].under_way) wait_for_one();
    }
    const std::uint64_t to_step = kHashStep - size() % kHashStep;
    const std::uint64_t piece = std::min({count, to_step, options.buffer_bytes - filled});
    fill(buffer(current) + filled, piece);
    filled += piece;
    count -= piece;
    if (piece == to_step || filled == options.buffer_bytes) hash_pending();
    if (filled == options.buffer_bytes) start_write();
  }
}

/// Feeds what was filled since the last call to the hasher; never crosses the end of a block.
void OutputFile::Impl::hash_pending() {
  hasher.update({buffer(current) + (hashed - buffer_offset), size() - hashed});
  hashed = size();
  if (hashed % kBlockBytes == 0) {
    blocks.push_back(hasher.digest());
    hasher.reset();
  }
}

void OutputFile::Impl::start_write() {
  const bool is_first = !std::exchange(was_full, true);
  if (is_first && options.io == IoMode::automatic && !is_stream) go_direct();
  const Bytes bytes(buffer(current), filled);
  const std::uint64_t offset = buffer_offset;
  if (!background && options.buffers > 1 && !is_stream) background.emplace(options.buffers);
  writes[current].offset = offset;
  if (background && background->submit(current, descriptor, bytes, offset)) {
    writes[current].under_way = true;
    ++writes_under_way;
  } else {
    write_now(bytes, offset);
  }
  buffer_offset += filled;
  filled = 0;
  current = (current + 1) % options.buffers;
}

/// Takes the end of one background write; what it left unfinished is pushed to `unfinished`.
void OutputFile::Impl::take_outcome(std::vector<UnfinishedWrite>& unfinished) {
  const BackgroundWriter::Outcome outcome = background->wait();
  Write& write = writes[outcome.slot];
  write.under_way = false;
  --writes_under_way;
  const Bytes bytes(buffer(outcome.slot), options.buffer_bytes);
  const auto written = static_cast<std::uint64_t>(std::max<std::int64_t>(outcome.result, 0));
  if (written == bytes.size()) return;
  const std::uint64_t done = written / kAlignment * kAlignment;
  if (is_hiccup(outcome.error())) count_retry(path, outcome.error());
  unfinished.push_back({write.offset + done, bytes.subspan(done)});
}

/// A write that failed or fell short is tried once more, plainly: it may have been cancelled (the
/// thread that began it has ended), or O_DIRECT refused. Those behind it are waited for first and
/// tried after it, so that the error that is thrown is the first one in the file, whichever the
/// kernel reports first.
void OutputFile::Impl::wait_for_one() {
  std::vector<UnfinishedWrite> unfinished;
  take_outcome(unfinished);
  if (unfinished.empty()) return;
  while (writes_under_way > 0) take_outcome(unfinished);
  std::sort(unfinished.begin(), unfinished.end(),
            [](const UnfinishedWrite& left, const UnfinishedWrite& right) {
              return left.offset < right.offset;
            });
  for (const UnfinishedWrite& write : unfinished) write_now(write.bytes, write.offset);
}

void OutputFile::Impl::wait_for_all() {
  while (writes_under_way > 0) wait_for_one();
}

void OutputFile::Impl::write_to_stream(Bytes bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      is_broken = true;
      throw write_error(descriptor, path, offset, bytes.size(), errno);
    }
    const auto done = static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    bytes = bytes.subspan(done);
    offset += done;
  }
}

void OutputFile::Impl::write_now(Bytes bytes, std::uint64_t offset) {
  if (is_stream) return write_to_stream(bytes, offset);
  const WriteOutcome outcome = try_write(descriptor, bytes, offset);
  if (outcome.error == 0) return;
  offset += outcome.bytes;
  bytes = bytes.subspan(outcome.bytes);
  // A short direct write may end off the grid, where only a buffered one can go on.
  const bool direct_refused = is_direct && outcome.error == EINVAL;
  if (direct_refused && (options.io == IoMode::automatic || outcome.bytes % kAlignment != 0)) {
    BufferedForNow buffered(descriptor, is_direct);
    if (outcome.bytes == 0) {
      is_direct = false;
      buffered.keep();
    }
    write_unaligned(bytes, offset);
    return;
  }
  is_broken = true;
  throw write_error(descriptor, path, offset, bytes.size(), outcome.error);
}

void OutputFile::Impl::write_unaligned(Bytes bytes, std::uint64_t offset) {
  is_broken = true;
  write_fully(descriptor, bytes, offset, path);
  is_broken = false;
}

void OutputFile::Impl::require_appended(std::uint64_t offset, std::uint64_t count) const {
  require_usable();
  if (is_stream) throw Error(Code::bug, "a stream has no bytes to come back to").at(path);
  if (offset > size() || count > size() - offset) {
    throw Error(Code::bug, "{} bytes at offset {} are outside the {} appended", count, offset,
                size())
        .at(path);
  }
}

void OutputFile::Impl::read_range(std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t on_disk =
      offset < buffer_offset ? std::min<std::uint64_t>(into.size(), buffer_offset - offset) : 0;
  const BufferedForNow buffered(descriptor, is_direct && on_disk > 0);
  const auto [done, error] = try_read(descriptor, into.first(on_disk), offset, path);
  if (done < on_disk)
    throw read_failed(path, offset + done, on_disk - done, error != 0 ? error : EIO);
  if (done < into.size()) {
    std::memcpy(into.data() + done, buffer(current) + (offset + done - buffer_offset),
                into.size() - done);
  }
}

/// Hashes the blocks that [begin, end) touches again, as far as they had been hashed.
void OutputFile::Impl::hash_again(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> piece(kHashStep);
  for (std::uint64_t block = begin / kBlockBytes; block * kBlockBytes < std::min(end, hashed);
       ++block) {
    const std::uint64_t block_end = std::min((block + 1) * kBlockBytes, hashed);
    Hasher128 again;
    for (std::uint64_t at = block * kBlockBytes; at < block_end; at += piece.size()) {
      const std::span<std::byte> into(piece.data(),
                                      std::min<std::uint64_t>(piece.size(), block_end - at));
      read_range(at, into);
      again.update(into);
    }
    if (block < blocks.size()) {
      blocks[block] = again.digest();
    } else {
      hasher = std::move(again);
    }
  }
}

// A buffer that is not full stays one: its bytes are written again with the rest of it.
std::uint64_t OutputFile::Impl::flush() {
  require_usable();
  wait_for_all();
  if (!is_direct && filled > 0) write_now({buffer(current), filled}, buffer_offset);
  return is_direct ? buffer_offset : size();
}

std::uint64_t OutputFile::Impl::sync() {
  const std::uint64_t written = flush();
  if (uninterrupted([&] { return ::fdatasync(descriptor); }) != 0)
    throw write_error(descriptor, path, 0, size(), errno);
  return written;
}

FileSummary OutputFile::Impl::finish() {
  require_usable();
  const std::uint64_t bytes = size();
  if (hashed < bytes) hash_pending();
  std::uint64_t padded = filled;
  if (is_direct && filled % kAlignment != 0) {
    padded += kAlignment - filled % kAlignment;
    std::memset(buffer(current) + filled, 0, padded - filled);
  }
  if (filled > 0) write_now({buffer(current), padded}, buffer_offset);
  wait_for_all();
  is_broken = true;
  const auto truncate = [&] { return ::ftruncate(descriptor, static_cast<off_t>(bytes)); };
  if (padded != filled && retried(path, truncate) != 0) {
    const int error = errno;
    throw because_of_room(Error(Code::io, "cannot be truncated to {} bytes", bytes), path, error);
  }
  make_durable(bytes);
  if (bytes % kBlockBytes != 0) blocks.push_back(hasher.digest());
  if (lacks_hashes) return {.bytes = bytes, .blocks = {}, .hash = {}};
  return {.bytes = bytes, .blocks = blocks, .hash = hash_of_blocks(blocks)};
}

void OutputFile::Impl::make_durable(std::uint64_t bytes) {
  if (is_stream) {
    if (::close(std::exchange(descriptor, -1)) == 0) return;
    throw write_error(-1, path, bytes, 0, errno);
  }
  FileSyncs alone;
  FileSyncs& syncs = options.syncs != nullptr ? *options.syncs : alone;
  syncs.add(std::exchange(descriptor, -1), path, bytes);
  if (&syncs == &alone) alone.sync();
}

OutputFile::OutputFile(const std::string& path, const Options& options)
    : OutputFile(create_file(path), path, options) {}
OutputFile::OutputFile(int descriptor, std::string name, const Options& options)
    : impl_(std::make_unique<Impl>(descriptor, std::move(name), options)) {
  impl_->prepare();
}
OutputFile OutputFile::continued(const std::string& path, std::uint64_t bytes,
                                 const Options& options) {
  const int descriptor = above_standard_descriptors(
      retried(path, [&] { return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC); }));
  if (descriptor < 0) throw Error(Code::io, "cannot be opened").at(path).because_errno(errno);
  OutputFile file(descriptor, path, options);
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < bytes)
    throw Error(Code::damaged, "has fewer than the {} bytes that were durable", bytes).at(path);
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0)
    throw write_error(descriptor, path, bytes, 0, errno);
  file.impl_->buffer_offset = file.impl_->hashed = bytes;
  file.impl_->lacks_hashes = bytes > 0;
  return file;
}
OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

const std::string& OutputFile::path() const { return impl_->path; }
std::uint64_t OutputFile::size() const { return impl_->size(); }

void OutputFile::append(Bytes bytes) {
  const std::byte* from = bytes.data();
  impl_->grow(bytes.size(), [&from](std::byte* to, std::uint64_t count) {
    std::memcpy(to, from, count);
    from += count;
  });
}

void OutputFile::append_zeros(std::uint64_t count) {
  impl_->grow(count, [](std::byte* to, std::uint64_t piece) { std::memset(to, 0, piece); });
}

void OutputFile::patch(std::uint64_t offset, Bytes bytes) {
  Impl& file = *impl_;
  file.require_appended(offset, bytes.size());
  if (bytes.empty()) return;
  file.wait_for_all();
  const std::uint64_t on_disk =
      offset < file.buffer_offset
          ? std::min<std::uint64_t>(bytes.size(), file.buffer_offset - offset)
          : 0;
  if (on_disk > 0) {
    const BufferedForNow buffered(file.descriptor, file.is_direct);
    file.write_unaligned(bytes.first(on_disk), offset);
  }
  if (on_disk < bytes.size()) {
    std::memcpy(file.buffer(file.current) + (offset + on_disk - file.buffer_offset),
                bytes.data() + on_disk, bytes.size() - on_disk);
  }
  file.hash_again(offset, offset + bytes.size());
}

void OutputFile::read_back(std::uint64_t offset, std::span<std::byte> into) {
  impl_->require_appended(offset, into.size());
  if (into.empty()) return;
  impl_->wait_for_all();
  impl_->read_range(offset, into);
}

std::uint64_t OutputFile::sync() { return impl_->sync(); }

std::uint64_t OutputFile::flush() { return impl_->flush(); }

FileSummary OutputFile::finish() { return impl_->finish(); }

}  // namespace shale
