#include "shale/wire/msgpack_sample.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <msgpack.hpp>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/msgpack_cursor.hpp"

namespace shale {
namespace {

// Values of up to this many bytes are copied: a borrowed piece costs more than they do.
constexpr std::uint64_t kCopiedBytes = 256;

// The first bytes of msgpack's types that are written or read here by hand.
enum TypeByte : std::uint8_t {
  kFixArray = 0x90,
  kFixArrayEnd = 0x9f,
  kFixStr = 0xa0,
  kFixStrEnd = 0xbf,
  kBin8 = 0xc4,
  kBin16 = 0xc5,
  kBin32 = 0xc6,
  kFloat64 = 0xcb,
  kStr8 = 0xd9,
  kStr16 = 0xda,
  kStr32 = 0xdb,
  kArray16 = 0xdc,
  kArray32 = 0xdd,
};

// Where msgpack-cxx writes to. Small writes are collected on the stack, so that a tiny sample
// reaches the blob in one piece and one allocation.
class MapSink {
 public:
  explicit MapSink(Blob& out) : out_(out) {}

  [[nodiscard]] std::uint64_t position() const { return out_.size() + filled_; }

  // The name and the signature that msgpack::packer calls.
  void write(const char* data, std::size_t size) { copy(as_bytes({data, size})); }

  void copy(Bytes bytes) {
    if (bytes.empty()) return;
    if (is_in_list_) list_crc_ = crc32c(bytes, list_crc_);
    if (bytes.size() > buffer_.size() - filled_) flush();
    if (bytes.size() > buffer_.size()) return out_.append_copy(bytes);
    std::memcpy(buffer_.data() + filled_, bytes.data(), bytes.size());
    filled_ += bytes.size();
  }
  // Bytes that outlive the blob.
  void borrow(Bytes bytes) {
    if (bytes.size() <= kCopiedBytes) return copy(bytes);
    if (is_in_list_) list_crc_ = crc32c(bytes, list_crc_);
    flush();
    out_.append_view(bytes);
  }
  void borrow(const AnyBytes& bytes) {
    const Unread* unread = bytes.unread();
    if (unread == nullptr) return borrow(bytes.held());
    if (is_in_list_) list_crc_ = crc32c_combine(list_crc_, bytes.crc32c(), bytes.size());
    flush();
    out_.append_unread(*unread);
  }
  void flush() {
    out_.append_copy(Bytes(buffer_).first(filled_));
    filled_ = 0;
  }

  // A list's checksum covers all that is written from begin to end: headers and elements.
  void begin_list() {
    is_in_list_ = true;
    list_crc_ = 0;
  }
  std::uint32_t end_list() {
    is_in_list_ = false;
    return list_crc_;
  }

 private:
  Blob& out_;
  bool is_in_list_ = false;
  std::uint32_t list_crc_ = 0;
  std::size_t filled_ = 0;
  std::array<std::byte, 1024> buffer_;
};

// Writes the entries of one sample.
class SampleWriter {
 public:
  SampleWriter(const Sample& sample, const Schema& schema, Blob& out)
      : sample_(sample), schema_(schema), sink_(out), packer_(sink_) {}

  IndexRow write() {
    IndexRow row;
    const auto absent = std::ranges::count_if(sample_.values, [](const Value& value) {
      return std::holds_alternative<std::monostate>(value);
    });
    packer_.pack_map(static_cast<std::uint32_t>(1 + schema_.fields.size()) -
                     static_cast<std::uint32_t>(absent));
    pack_text("key");
    // Copied: the key lives in the sample, which may be gone before the blob.
    packer_.pack_bin(checked_length(sample_.key.size(), "key"));
    row.key = place_of(as_bytes(sample_.key));
    sink_.copy(as_bytes(sample_.key));
    row.key_hash = xxh3_64(as_bytes(sample_.key));
    row.cells.reserve(schema_.fields.size());
    row.sides = sample_.sides;
    ShapeWalk shapes(sample_.sides);
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      const auto shape = shapes.next(field);
      if (std::holds_alternative<std::monostate>(sample_.values[i])) {
        row.cells.emplace_back().lacks_number = !is_located(field.kind);
        continue;
      }
      pack_text(field.name);
      row.cells.push_back(pack_value(field, shape, sample_.values[i]));
    }
    sink_.flush();
    row.record_offset = 0;
    row.record_length = sink_.position();
    return row;
  }

 private:
  IndexCell pack_value(const Field& field, std::span<const std::uint64_t> shape,
                       const Value& value) {
    IndexCell cell;
    switch (field.kind) {
      case Kind::integer:
        cell.integer = std::get<std::int64_t>(value);
        packer_.pack_int64(cell.integer);
        break;
      case Kind::real:
        cell.real = std::get<double>(value);
        pack_real(cell.real);
        break;
      case Kind::list:
        cell.place = pack_list(field, value);
        break;
      case Kind::tensor:
        if (field.is_ragged()) {
          pack_array_head(field, shape);
        } else {
          pack_tensor_head(field);
        }
        cell.place = pack_bin(field, run_of(value));
        break;
      case Kind::bytes:
        cell.place = pack_bin(field, run_of(value));
        break;
      case Kind::text: {
        const AnyBytes text = run_of(value);
        packer_.pack_str(checked_length(text.size(), field.name));
        cell.place = place_of(text);
        sink_.borrow(text);
        break;
      }
    }
    return cell;
  }

  // Not by msgpack-cxx: from version 4 on its pack_double() makes an integer of a whole number,
  // which loses the sign of -0.0 and the kind of the field.
  void pack_real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::array<std::byte, 9> bytes = {std::byte{kFloat64}};
    for (std::size_t i = 0; i < 8; ++i) bytes[8 - i] = static_cast<std::byte>(bits >> (8 * i));
    sink_.copy(bytes);
  }

  void pack_text(std::string_view text) {
    packer_.pack_str(static_cast<std::uint32_t>(text.size()));
    sink_.copy(as_bytes(text));
  }

  FieldPlace pack_bin(const Field& field, const AnyBytes& bytes) {
    packer_.pack_bin(checked_length(bytes.size(), field.name));
    const FieldPlace place = place_of(bytes);
    sink_.borrow(bytes);
    return place;
  }

  void pack_tensor_head(const Field& field) {
    packer_.pack_map(3);
    pack_text("dtype");
    pack_text(field.dtype.descr());
    pack_text("shape");
    pack_sides(field.shape);
    pack_text("data");
  }

  // As msgpack_numpy.packb() does.
  void pack_array_head(const Field& field, std::span<const std::uint64_t> shape) {
    packer_.pack_map(5);
    pack_name("nd");
    packer_.pack_true();
    pack_name("type");
    pack_text(field.dtype.descr());
    pack_name("kind");
    pack_name("");
    pack_name("shape");
    pack_sides(shape);
    pack_name("data");
  }

  void pack_sides(std::span<const std::uint64_t> shape) {
    packer_.pack_array(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t side : shape) packer_.pack_uint64(side);
  }

  void pack_name(std::string_view name) {
    packer_.pack_bin(static_cast<std::uint32_t>(name.size()));
    sink_.copy(as_bytes(name));
  }

  FieldPlace pack_list(const Field& field, const Value& list) {
    const std::uint64_t elements = count_elements(list);
    if (elements > kMaxMsgpackBytes) {
      throw Error(Code::limit, "field '{}' is a list of {} elements; msgpack holds at most {}",
                  printable(field.name), elements, kMaxMsgpackBytes)
          .for_sample(sample_.key);
    }
    const auto count = static_cast<std::uint32_t>(elements);
    const std::uint64_t begin = sink_.position();
    sink_.begin_list();
    packer_.pack_array(count);
    for (std::uint64_t i = 0; i < elements; ++i) {
      const AnyBytes element = element_of(list, i);
      const std::uint32_t length = checked_length(element.size(), field.name);
      if (field.elements == Kind::text) {
        packer_.pack_str(length);
      } else {
        packer_.pack_bin(length);
      }
      sink_.borrow(element);
    }
    return {.offset = begin,
            .length = sink_.position() - begin,
            .crc32c = sink_.end_list(),
            .count = count};
  }

  // The place of bytes that are written next.
  [[nodiscard]] FieldPlace place_of(const AnyBytes& bytes) const {
    return {.offset = sink_.position(), .length = bytes.size(), .crc32c = bytes.crc32c()};
  }

  [[nodiscard]] std::uint32_t checked_length(std::uint64_t bytes, std::string_view name) const {
    if (bytes > kMaxMsgpackBytes) {
      throw Error(Code::limit, "'{}' holds a value of {} bytes; msgpack holds at most {}",
                  printable(name), bytes, kMaxMsgpackBytes)
          .for_sample(sample_.key.substr(0, 4096))
          .hint("leave the sample out, or choose a format without this limit: --to hdf5");
    }
    return static_cast<std::uint32_t>(bytes);
  }

  const Sample& sample_;
  const Schema& schema_;
  MapSink sink_;
  msgpack::packer<MapSink> packer_;
};

std::uint32_t read_array_header(ByteReader& in) {
  const std::uint64_t begin = in.offset();
  const std::uint8_t type = in.read_u8();
  if (type >= kFixArray && type <= kFixArrayEnd) return type - kFixArray;
  if (type == kArray16) return in.read_u16_be();
  if (type == kArray32) return in.read_u32_be();
  throw Error(Code::damaged, "a msgpack list begins with type {:#04x}, expected an array", type)
      .at({}, begin);
}

Bytes read_element(ByteReader& in) {
  const std::uint64_t begin = in.offset();
  const std::uint8_t type = in.read_u8();
  if (type >= kFixStr && type <= kFixStrEnd) return in.read_bytes(type - kFixStr);
  switch (type) {
    case kBin8:
    case kStr8:
      return in.read_bytes(in.read_u8());
    case kBin16:
    case kStr16:
      return in.read_bytes(in.read_u16_be());
    case kBin32:
    case kStr32:
      return in.read_bytes(in.read_u32_be());
    default:
      throw Error(Code::damaged, "an element of a msgpack list has type {:#04x}, expected bin",
                  type)
          .at({}, begin);
  }
}

}  // namespace

MsgpackSample encode_msgpack_sample(const Sample& sample, const Schema& schema) {
  MsgpackSample encoded;
  encoded.row = SampleWriter(sample, schema, encoded.map).write();
  return encoded;
}

std::vector<FieldPlace> walk_msgpack_list(const ViewBytes& view, const FieldPlace& list) {
  if (list.length == 0) return {};  // a value that is absent
  MsgpackCursor cursor(view, list.offset + list.length, "msgpack list");
  const MsgpackHeader array = cursor.read(list.offset);
  if (array.type != MsgpackType::array || array.length != list.count) {
    throw Error(Code::damaged, "{} of {} where a msgpack list of {} is expected",
                name_of(array.type), array.length, list.count);
  }
  std::vector<FieldPlace> elements;
  std::uint64_t at = array.contents;
  for (std::uint64_t i = 0; i < array.length; ++i) {
    const MsgpackHeader element = cursor.read(at);
    if (!element.is_run())
      throw Error(Code::damaged, "an element of a msgpack list is {}", name_of(element.type));
    elements.push_back({.offset = element.contents, .length = element.length});
    at = element.contents + element.length;
  }
  return elements;
}

std::vector<Bytes> split_msgpack_list(Bytes extent, std::uint32_t count) {
  if (extent.empty() && count == 0) return {};  // a value that is absent
  ByteReader in(extent);
  const std::uint32_t stored = read_array_header(in);
  // An element takes a byte or more: checked before memory is taken for them.
  if (stored != count || count > in.remaining()) {
    throw Error(Code::damaged, "a msgpack list of {} elements in {} bytes, expected {} elements",
                stored, extent.size(), count);
  }
  std::vector<Bytes> elements;
  elements.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) elements.push_back(read_element(in));
  if (!in.at_end()) {
    throw Error(Code::damaged, "{} bytes are left over after the last element of a msgpack list",
                in.remaining());
  }
  return elements;
}

}  // namespace shale
