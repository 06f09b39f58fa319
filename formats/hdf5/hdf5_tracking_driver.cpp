#include "formats/hdf5/hdf5_tracking_driver.hpp"

#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"

// Source: H5FDpublic.h of HDF5 1.10 (struct H5FD_class_t) and its "sec2" driver, whose meaning of
// each function is kept.

namespace shale {

struct Hdf5TrackedFile::Tracker {
  bool is_armed = false;  // raw data is not read, but its address is kept
  std::optional<std::uint64_t> address;
  bool may_be_cut = false;
  int open_error = 0, read_error = 0;  // errno values
};

namespace {

constexpr haddr_t kMostAddress = static_cast<haddr_t>(~std::uint64_t{0} >> 1);

// What the driver is told when a file is opened, copied by the library.
struct DriverInfo {
  Hdf5TrackedFile::Tracker* tracker;
};

struct DriverFile {
  H5FD_t common;  // the library's; first, because it is what the functions get
  int descriptor;
  haddr_t end_of_file, end_of_addresses;
  Hdf5TrackedFile::Tracker* tracker;
};

DriverFile* own(H5FD_t* file) { return reinterpret_cast<DriverFile*>(file); }
const DriverFile* own(const H5FD_t* file) { return reinterpret_cast<const DriverFile*>(file); }

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  if (info == nullptr || (flags & H5F_ACC_RDWR) != 0) return nullptr;
  auto file = std::make_unique<DriverFile>();
  file->descriptor = retried(name, [&] { return ::open(name, O_RDONLY | O_CLOEXEC); });
  if (file->descriptor < 0) {
    info->tracker->open_error = errno;
    return nullptr;
  }
  struct stat facts {};
  if (retried(name, [&] { return ::fstat(file->descriptor, &facts); }) != 0) {
    info->tracker->open_error = errno;
    ::close(file->descriptor);
    return nullptr;
  }
  file->end_of_file = static_cast<haddr_t>(facts.st_size);
  file->tracker = info->tracker;
  return &file.release()->common;  // close_file() takes it back
}

herr_t close_file(H5FD_t* file) {
  const std::unique_ptr<DriverFile> taken(own(file));
  ::close(taken->descriptor);
  return 0;
}

int compare_files(const H5FD_t* left, const H5FD_t* right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

herr_t query_features(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return own(file)->end_of_addresses; }

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  own(file)->end_of_addresses = address;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  const DriverFile& self = *own(file);
  return self.tracker->may_be_cut ? kMostAddress : self.end_of_file;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size,
                 void* into) {
  const DriverFile& self = *own(file);
  if (self.tracker->is_armed && type == H5FD_MEM_DRAW) {
    self.tracker->address = address;
    return 0;
  }
  // The library asks for more than it needs of what has a head, up to 512 bytes.
  constexpr std::size_t kMostAhead = 512;
  const bool is_cut = address > self.end_of_file || size > self.end_of_file - address;
  const bool is_ahead = type != H5FD_MEM_DRAW && size <= kMostAhead && address < self.end_of_file;
  if (self.tracker->may_be_cut && is_cut && !is_ahead) return -1;
  auto* to = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = retried(self.descriptor, [&] {
      return ::pread(self.descriptor, to, size, static_cast<off_t>(address));
    });
    if (got < 0) {
      self.tracker->read_error = errno;
      return -1;
    }
    if (got == 0) {
      std::memset(to, 0, size);  // as "sec2" has it
      return 0;
    }
    to += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
  driver.name = "shale_tracking";
  driver.maxaddr = kMostAddress;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare_files;
  driver.query = query_features;
  driver.get_eoa = end_of_addresses;
  driver.set_eoa = set_end_of_addresses;
  driver.get_eof = end_of_file;
  driver.read = read_file;
  driver.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) -> herr_t {
    return -1;
  };
  for (H5FD_mem_t& kind : driver.fl_map) kind = H5FD_MEM_DEFAULT;
  return driver;
}

}  // namespace

Hdf5TrackedFile::Hdf5TrackedFile(const std::string& path, bool may_be_cut)
    : tracker_(std::make_unique<Tracker>()) {
  tracker_->may_be_cut = may_be_cut;
  const H5FD_class_t driver_facts = driver_class();  // the library keeps a copy
  driver_ = H5FDregister(&driver_facts);
  access_ = H5Pcreate(H5P_FILE_ACCESS);
  const DriverInfo info{tracker_.get()};
  if (H5Pset_driver(access_, driver_, &info) < 0) return;
  id_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_);
  if (tracker_->open_error == 0) return;
  release();
  Error error(Code::io, "cannot be reopened for the HDF5 library");
  error.because_errno(tracker_->open_error);
  if (tracker_->open_error == EMFILE) error.hint("raise the limit of open files (ulimit -n)");
  throw error;
}

Error Hdf5TrackedFile::reason_of(const Error& error) const {
  if (tracker_->read_error == 0) return error;
  return Error(Code::io, "a read for the library failed").because_errno(tracker_->read_error);
}

Hdf5TrackedFile::~Hdf5TrackedFile() { release(); }

void Hdf5TrackedFile::release() {
  if (id_ >= 0) H5Fclose(id_);
  if (access_ >= 0) H5Pclose(access_);
  if (driver_ >= 0) H5FDunregister(driver_);
}

std::optional<Hdf5TrackedFile::StoredChunk> Hdf5TrackedFile::stored_chunk(
    std::int64_t dataset, std::span<const unsigned long long> at) {
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(dataset, at.data(), &bytes) < 0 || bytes == 0) return std::nullopt;
  StoredChunk stored{.bytes = bytes};
  tracker_->is_armed = true;
  std::byte nothing{};  // the driver does not touch it while it is armed
  const herr_t result =
      H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &stored.passed_over, &nothing);
  tracker_->is_armed = false;
  return result < 0 ? std::nullopt : std::optional(stored);
}

std::optional<std::uint64_t> Hdf5TrackedFile::chunk_address(
    std::int64_t dataset, std::span<const unsigned long long> at) {
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(dataset, at.data(), &stored) < 0 || stored == 0)
    return std::nullopt;
  tracker_->address.reset();
  tracker_->is_armed = true;
  std::uint32_t mask = 0;
  std::byte nothing{};  // the driver does not touch it while it is armed
  const herr_t result = H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &mask, &nothing);
  tracker_->is_armed = false;
  return result < 0 ? std::nullopt : tracker_->address;
}

}  // namespace shale
