#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"

// The part of HDF5's file format that shale's own shards are made of: superblock and object
// headers, written and read without the library. hdf5_metadata.cpp draws the bytes.
// Source: HDF5 File Format Specification 3.0,
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html, sections II.A, IV.A.

namespace shale {

/// "Nowhere": an address that is not set.
inline constexpr std::uint64_t kHdf5Nowhere = ~std::uint64_t{0};
inline constexpr std::uint64_t kSuperblockBytes = 48;
inline constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

/// Far above what the headers of a group of kMaxHdf5Fields, and of a dataset without large
/// attributes, need.
inline constexpr std::uint64_t kMaxRootBytes = 8 << 20, kMaxDatasetBytes = 256 * 1024;

/// Numbers of header messages (section IV.A.2).
enum class MessageType : std::uint8_t {
  nil = 0x00,
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  fill_value = 0x05,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  group_info = 0x0a,
  filters = 0x0b,
  attribute = 0x0c,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
};

/// One message of an object header.
struct HeaderMessage {
  MessageType type = MessageType::nil;
  std::uint8_t flags = 0;  ///< bit 0: constant; bit 1: the body is a reference to a shared message
  std::uint64_t offset = 0;  ///< of the body in the file; set by reading only
  std::vector<std::byte> body;
};

/// A link of a group.
struct HardLink {
  std::string name;
  std::uint64_t address = kHdf5Nowhere;  ///< of an object header
};

/// Which bytes of the file a dataset takes, and how its elements count.
struct ContiguousData {
  std::uint64_t address = kHdf5Nowhere, bytes = 0;
};

struct Superblock {
  std::uint64_t end_of_file = 0;
  std::uint64_t root_address = 0;
};

/// The checksum of all of HDF5's metadata. Source: Bob Jenkins, lookup3.c, hashlittle(), initval 0.
[[nodiscard]] std::uint32_t lookup3(Bytes bytes);

[[nodiscard]] std::vector<std::byte> superblock_bytes(const Superblock& superblock);
/// A version 2 object header without times, in one chunk.
[[nodiscard]] std::vector<std::byte> object_header_bytes(std::span<const HeaderMessage> messages);
[[nodiscard]] HeaderMessage dataspace_message(std::span<const std::uint64_t> sides);
[[nodiscard]] HeaderMessage fill_value_message();
[[nodiscard]] HeaderMessage layout_message(const ContiguousData& data);
[[nodiscard]] HeaderMessage link_message(const HardLink& link);
/// Links lie in the group's own header.
[[nodiscard]] HeaderMessage link_info_message();
[[nodiscard]] HeaderMessage group_info_message();

/// What an object has beside its data.
struct Attribute {
  std::string name;
  std::vector<std::byte> datatype;   ///< the body of its message
  std::vector<std::uint64_t> sides;  ///< none: a scalar
  std::vector<std::byte> value;
};
[[nodiscard]] HeaderMessage attribute_message(const Attribute& attribute);
/// The object header of a contiguous dataset; one without bytes lies nowhere.
[[nodiscard]] std::vector<std::byte> dataset_header_bytes(
    std::span<const std::uint64_t> sides, std::vector<std::byte> datatype,
    const ContiguousData& data, std::span<const HeaderMessage> attributes = {});
/// The object header of a dataset at the root.
struct NamedHeader {
  std::string name;
  std::vector<std::byte> header;
  std::uint64_t address = kHdf5Nowhere;  ///< of one that is written elsewhere, and is empty here
};
/// Superblock, root group and these object headers: a file up to where its data begins. Its size
/// depends on names, headers and the attributes of the root group only.
[[nodiscard]] std::vector<std::byte> file_head_bytes(
    std::span<const NamedHeader> datasets, std::uint64_t end_of_file,
    std::span<const HeaderMessage> attributes = {});

// Reading. All of it throws Code::damaged with file and offset for bytes that break the format, and
// Code::unsupported for what the format has and shale's shards have not.

/// The superblock at byte 0: version 2 or 3. Its end of file is not compared with the file's size.
[[nodiscard]] Superblock read_superblock(const InputFile& file);
/// The messages of a version 2 object header in all of its chunks, which together may have
/// `limit_bytes`: so a chain of chunks that bites its tail ends too. Padding is left out.
/// Memory: twice the limit and 4 MiB. Errors: also Code::limit.
[[nodiscard]] std::vector<HeaderMessage> read_object_header(const InputFile& file,
                                                            std::uint64_t address,
                                                            std::uint64_t limit_bytes);
/// The sides of a simple or scalar dataspace.
[[nodiscard]] std::vector<std::uint64_t> read_dataspace(const HeaderMessage& message,
                                                        const std::string& path);
/// The place of a contiguous dataset, not compared with the file's size.
[[nodiscard]] ContiguousData read_layout(const HeaderMessage& message, const std::string& path);
/// Nullopt for an attribute that is not written as attribute_message() does.
[[nodiscard]] std::optional<Attribute> read_attribute(const HeaderMessage& message,
                                                      const std::string& path);
/// Nullopt for a link that is not a hard one.
[[nodiscard]] std::optional<HardLink> read_link(const HeaderMessage& message,
                                                const std::string& path);
/// The address of a dataset's object header, by a link of the root group; nullopt: it has none.
/// Errors: Code::damaged, Code::unsupported, Code::limit, Code::io.
[[nodiscard]] std::optional<std::uint64_t> address_of_dataset(const InputFile& file,
                                                              std::string_view name);
/// True if the group's links lie in its header, all of them.
[[nodiscard]] bool has_compact_links(const HeaderMessage& link_info, const std::string& path);

}  // namespace shale
