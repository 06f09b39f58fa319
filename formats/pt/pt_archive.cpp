#include "formats/pt/pt_archive.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/pickle_reader.hpp"
#include "shale/wire/pickle_writer.hpp"
#include "shale/wire/zip_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kPickle = "/data.pkl", kByteOrder = "/byteorder";
// The number that PyTorch began its files with, pickled.
constexpr std::string_view kLegacyMagic =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr PickleLimits kLimits{.values = 1 << 19, .depth = 32, .text_bytes = 8 << 20};
constexpr std::uint64_t kMostPickleBytes = 16 << 20;
constexpr std::size_t kMostTensorAxes = 64;
constexpr std::uint64_t kTensorAlignment = 64;
constexpr std::uint64_t kMostTensorBytes = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2",
                           kTypedTensor = "torch._utils _rebuild_tensor_v3",
                           kParameter = "torch._utils _rebuild_parameter",
                           kOrderedDict = "collections OrderedDict",
                           kSparse = "torch._utils _rebuild_sparse_tensor",
                           kQuantised = "torch._utils _rebuild_qtensor",
                           kUntypedStorage = "torch.storage UntypedStorage";
constexpr std::string_view kGlobals[] = {
    kTensor, kTypedTensor, kParameter, kOrderedDict, kSparse, kQuantised, kUntypedStorage,
    "torch.serialization _get_layout", "torch per_tensor_affine", "torch per_channel_affine",
    "torch Size", "torch QUInt8Storage", "torch QInt8Storage", "torch QInt32Storage",
    "torch BoolStorage", "torch ByteStorage", "torch CharStorage", "torch ShortStorage",
    "torch IntStorage", "torch LongStorage", "torch HalfStorage", "torch FloatStorage",
    "torch DoubleStorage", "torch ComplexFloatStorage", "torch ComplexDoubleStorage",
    "torch BFloat16Storage",
    // dtypes
    "torch uint16", "torch uint32", "torch uint64", "torch complex32", "torch float8_e5m2",
    "torch float8_e4m3fn", "torch float8_e8m0fnu", "torch float8_e5m2fnuz",
    "torch float8_e4m3fnuz"};

std::string_view behind_module(std::string_view name) { return name.substr(name.find(' ') + 1); }

// a * b, if it is below 2^63.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t both = 0;
  if (__builtin_mul_overflow(a, b, &both) || both > kMostTensorBytes) return std::nullopt;
  return both;
}

// As its column is called.
std::string shown(std::string_view name) { return name.empty() ? "x" : printable(name); }

class ArchiveReader {
 public:
  ArchiveReader(std::span<const ZipMember> members, const ViewBytes& view, std::string_view where)
      : view_(view), where_(where) {
    members_.reserve(members.size());
    for (const ZipMember& member : members) {
      if (member.is_repeated)
        throw repeated_member(member, where).hint("write the archive again with each name once");
      members_.emplace(member.name, &member);
    }
  }

  StoredTensors read(const ZipMember& pickle_member) {
    pickle_ = &pickle_member;
    require_stored(pickle_member);
    if (pickle_member.bytes > kMostPickleBytes) {
      throw error(Code::limit, "'{}' has {} bytes, more than the limit of {}",
                  printable(pickle_member.name), pickle_member.bytes, kMostPickleBytes);
    }
    prefix_ = pickle_member.name.substr(0, pickle_member.name.size() - kPickle.size());
    read_byte_order();
    const Pickle pickle = read_pickle(view_, pickle_member.data_offset, pickle_member.bytes, where_,
                                      kGlobals, kLimits);
    walk(pickle.root(), {});
    return std::move(found_);
  }

 private:
  template <class... Args>
  [[nodiscard]] Error error(Code code, fmt::format_string<Args...> format, Args&&... args) const {
    Error error(code, format, std::forward<Args>(args)...);
    error.at(where_, pickle_->data_offset);
    return error;
  }

  void require_stored(const ZipMember& member) const {
    if (!member.is_deflated) return;
    throw error(Code::unsupported, "member '{}' of a .pt archive is compressed",
                printable(member.name))
        .hint("load it with torch.load and save it again with torch.save, which stores it");
  }

  void read_byte_order() {
    const auto found = members_.find(prefix_ + std::string(kByteOrder));
    if (found == members_.end()) return;
    require_stored(*found->second);
    const std::uint64_t bytes = std::min<std::uint64_t>(found->second->bytes, 16);
    const std::string order(as_text(view_(found->second->data_offset, bytes)));
    if (order != "little" && order != "big")
      throw error(Code::damaged, "byte order '{}' is neither little nor big", printable(order));
    is_big_ = order == "big";
  }

  // Names of nested values are joined by dots.
  void walk(const PickleValue& value, const std::string& name) {
    const auto inner = [&](std::string_view key) {
      return name.empty() ? std::string(key) : fmt::format("{}.{}", name, key);
    };
    switch (value.kind()) {
      case PickleKind::call:
        if (value.is_call_of("torch Size")) return found_.left_out.push_back(name);
        if (value.name() != kOrderedDict) return add_tensor(value, name);
        [[fallthrough]];
      case PickleKind::dict:
        for (std::size_t i = 0; i < value.entries(); ++i)
          walk(value.value(i), inner(key_text(value.key(i))));
        return;
      case PickleKind::list:
      case PickleKind::tuple:
        for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], inner(std::to_string(i)));
        return;
      default:
        found_.left_out.push_back(name);
        return;
    }
  }

  std::string key_text(const PickleValue& key) const {
    if (key.is(PickleKind::text)) return std::string(key.text());
    if (key.is(PickleKind::integer)) return std::to_string(key.integer());
    throw error(Code::unsupported, "dict of a .pt file has a key that is {}, not a string",
                name_of(key.kind()));
  }

  void add_tensor(const PickleValue& value, const std::string& name) {
    StoredTensor tensor;
    tensor.name = name;
    const PickleValue call = unwrapped(value, name);
    if (call.name() == kSparse) {
      tensor.obstacle = "is sparse";
    } else if (call.name() == kQuantised) {
      tensor.obstacle = "is quantised";
    } else if (call.name() == kTensor || call.name() == kTypedTensor) {
      fill(call, tensor);
    } else {
      throw unexpected(name);
    }
    found_.tensors.push_back(std::move(tensor));
  }

  [[nodiscard]] Error unexpected(const std::string& name) const {
    return error(Code::damaged, "tensor '{}' is not put together as PyTorch does it", shown(name));
  }
  void require(bool is_so, const std::string& name) const {
    if (!is_so) throw unexpected(name);
  }

  // A parameter is a tensor with a flag.
  PickleValue unwrapped(const PickleValue& value, const std::string& name) const {
    if (value.name() != kParameter) return value;
    require(value.size() >= 1 && value[0].is(PickleKind::call), name);
    return value[0];
  }

  std::vector<std::uint64_t> numbers(const PickleValue& value, const std::string& name) const {
    if (value.is_call_of("torch Size")) {
      require(value.size() == 1, name);
      return numbers(value[0], name);
    }
    require(value.is(PickleKind::tuple) || value.is(PickleKind::list), name);
    if (value.size() > kMostTensorAxes)
      throw error(Code::limit, "tensor '{}' has {} axes", shown(name), value.size());
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < value.size(); ++i) numbers.push_back(number(value[i], name));
    return numbers;
  }

  std::uint64_t number(const PickleValue& value, const std::string& name) const {
    require(value.is(PickleKind::integer) && value.integer() >= 0, name);
    return static_cast<std::uint64_t>(value.integer());
  }

  void fill(const PickleValue& call, StoredTensor& tensor) const {
    const std::string& name = tensor.name;
    const bool is_typed = call.name() == kTypedTensor;
    require(call.size() >= (is_typed ? 7U : 6U) && call[0].is(PickleKind::persistent_id), name);
    const PickleValue id = call[0][0];
    require(id.is(PickleKind::tuple) && id.size() == 5 && id[1].is(PickleKind::global) &&
                id[2].is(PickleKind::text),
            name);
    const TensorType* const type = type_of(id[1].name(), call);
    if (type == nullptr) {
      tensor.obstacle = fmt::format("is of {}", behind_module(id[1].name()));
      return;
    }
    tensor.shape = numbers(call[2], name);
    tensor.strides = numbers(call[3], name);
    require(tensor.shape.size() == tensor.strides.size(), name);
    tensor.obstacle = lazy_operation(call, is_typed ? 7 : 6);
    if (!tensor.obstacle.empty()) return;
    set_dtype(*type, tensor);
    place(tensor, type->item_bytes, number(call[1], name), storage_of(id, *type, name));
    drop_plain_strides(tensor);
  }

  // What PyTorch does with the elements each time it reads them, {'conj': True}: the last argument.
  static std::string lazy_operation(const PickleValue& call, std::size_t place) {
    if (call.size() <= place || !call[place].is(PickleKind::dict)) return {};
    const PickleValue& metadata = call[place];
    for (std::size_t i = 0; i < metadata.entries(); ++i) {
      const PickleValue key = metadata.key(i), value = metadata.value(i);
      if (value.is(PickleKind::boolean) && value.integer() == 0) continue;
      const std::string_view name = key.is(PickleKind::text) ? key.text() : "";
      if (name == "conj") return "is a lazy conjugate; save it with tensor.resolve_conj()";
      if (name == "neg") return "is a lazy negative; save it with tensor.resolve_neg()";
      return fmt::format("has the attribute '{}', which is not supported", printable(name));
    }
    return {};
  }

  static const TensorType* type_of(std::string_view storage, const PickleValue& call) {
    if (storage != kUntypedStorage) return tensor_type_of_storage(behind_module(storage));
    if (call.size() < 7 || !call[6].is(PickleKind::global)) return nullptr;
    return tensor_type_of_torch(behind_module(call[6].name()));
  }

  void set_dtype(const TensorType& type, StoredTensor& tensor) const {
    std::string descr(type.descr);
    if (is_big_ && descr.starts_with('<')) descr[0] = '>';
    StoredDType stored = parse_stored_dtype(descr);
    tensor.dtype = std::move(stored.dtype);
    tensor.swaps = std::move(stored.swaps);
    // To NumPy bfloat16 and complex32 are raw bytes: they are made of numbers of two.
    if (is_big_ && tensor.dtype.is_structured() && type.item_bytes > 1)
      tensor.swaps = {{0, 2, type.item_bytes / 2}};
  }

  const ZipMember& storage_of(const PickleValue& id, const TensorType& type,
                              const std::string& name) const {
    const std::string member_name = fmt::format("{}/data/{}", prefix_, id[2].text());
    const auto found = members_.find(member_name);
    if (found == members_.end()) {
      throw error(Code::damaged, "tensor '{}' is in member '{}', which the archive does not have",
                  shown(name), printable(member_name));
    }
    require_stored(*found->second);
    const std::uint64_t item = id[1].name() == kUntypedStorage ? 1 : type.item_bytes;
    const std::optional<std::uint64_t> bytes = product(number(id[4], name), item);
    if (!bytes || *bytes != found->second->bytes) {
      throw error(Code::damaged, "member '{}' has {} bytes, expected {} elements of {}",
                  printable(member_name), found->second->bytes, id[4].integer(), item);
    }
    return *found->second;
  }

  // The last element, by shape and strides, lies in the storage.
  void place(StoredTensor& tensor, std::uint64_t item, std::uint64_t first,
             const ZipMember& storage) const {
    const auto outside = [&] {
      return error(Code::damaged, "tensor '{}' does not lie in its storage of {} bytes",
                   shown(tensor.name), storage.bytes);
    };
    std::optional<std::uint64_t> bytes = item;  // without axes of length 0
    std::uint64_t last = first;
    const bool is_empty = std::ranges::find(tensor.shape, std::uint64_t{0}) != tensor.shape.end();
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const std::uint64_t length = std::max<std::uint64_t>(tensor.shape[axis], 1);
      bytes = product(*bytes, length);
      if (!bytes) {
        throw error(Code::limit, "tensor '{}' claims 2^63 bytes or more", shown(tensor.name));
      }
      const std::optional<std::uint64_t> step = product(length - 1, tensor.strides[axis]);
      if (!step || *step > kMostTensorBytes - last) throw outside();
      last += *step;
    }
    const std::uint64_t elements = storage.bytes / item;
    if (is_empty ? first > elements : last >= elements) throw outside();
    tensor.offset = storage.data_offset + first * item;
  }

  const ViewBytes& view_;
  std::string_view where_;
  std::unordered_map<std::string_view, const ZipMember*> members_;
  const ZipMember* pickle_ = nullptr;
  std::string prefix_;
  bool is_big_ = false;
  StoredTensors found_;
};

const ZipMember* find_pickle(std::span<const ZipMember> members) {
  const auto found = std::ranges::find_if(members, [](const ZipMember& member) {
    return member.name.size() > kPickle.size() && member.name.ends_with(kPickle) &&
           member.name.find('/') == member.name.size() - kPickle.size();
  });
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

bool is_pt_archive(std::span<const ZipMember> members) { return find_pickle(members) != nullptr; }

bool is_legacy_pt(std::string_view head) { return head.starts_with(kLegacyMagic); }

Error legacy_pt(std::string_view where) {
  Error error(Code::unsupported,
              "is a .pt file in the way of PyTorch before 1.6, not a zip archive");
  error.at(where).hint("load it with torch.load and save it again with torch.save");
  return error;
}

StoredTensors read_pt_archive(std::span<const ZipMember> members, const ViewBytes& view,
                              std::string_view where) {
  const ZipMember* const pickle = find_pickle(members);
  if (pickle == nullptr) throw Error(Code::bug, "not a .pt archive").at(where);
  return ArchiveReader(members, view, where).read(*pickle);
}

// Writing.

namespace {

std::uint64_t round_up(std::uint64_t offset) {
  return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// So that its data begins at a multiple of 64.
void align_data(ZipEntry& entry) {
  const std::uint64_t begin = entry.offset + zip_local_header(entry).size();
  entry.padding = round_up(begin) - begin;
  if (entry.padding > 0 && entry.padding < 4) entry.padding += kTensorAlignment;
}

}  // namespace

PtArchive::PtArchive(std::vector<TensorColumn> columns, bool is_dict)
    : columns_(std::move(columns)), is_dict_(is_dict) {
  ByteWriter front, directory;
  const auto add = [&](std::string_view name, Bytes bytes) {
    ZipEntry entry{.name = fmt::format("archive/{}", name),
                   .offset = front.size(),
                   .bytes = bytes.size(),
                   .stored = bytes.size(),
                   .crc32 = crc32(bytes)};
    align_data(entry);
    front.write_bytes(zip_local_header(entry));
    front.write_bytes(bytes);
    append_zip_directory_entry(directory, entry);
  };
  add("data.pkl", pickle());
  add("byteorder", as_bytes("little"));
  add("version", as_bytes("3\n"));
  front_ = front.take();
  front_directory_ = directory.take();
  std::uint64_t at = front_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    header_offsets_.push_back(at);
    at = data_offset(i) + columns_[i].bytes();
  }
}

std::uint64_t PtArchive::data_offset(std::size_t column) const {
  return header_offset(column) + header(column, 0).size();
}

std::vector<std::byte> PtArchive::header(std::size_t column, std::uint32_t crc32) const {
  return zip_local_header(entry_of(column, crc32));
}

std::vector<std::byte> PtArchive::trailer(std::span<const std::uint32_t> crc32s) const {
  ByteWriter out;
  out.write_bytes(front_directory_);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    append_zip_directory_entry(out, entry_of(i, crc32s[i]));
  const std::uint64_t bytes = out.size();
  const std::uint64_t begin =
      columns_.empty() ? front_.size() : data_offset(columns_.size() - 1) + columns_.back().bytes();
  append_zip_end(out, 3 + columns_.size(), begin, bytes);
  return out.take();
}

// Sizes are in a zip64 field always: the header has one length, whatever comes.
ZipEntry PtArchive::entry_of(std::size_t column, std::uint32_t crc32) const {
  const std::uint64_t bytes = columns_[column].bytes();
  ZipEntry entry{.name = fmt::format("archive/data/{}", column),
                 .is_wide = true,
                 .offset = header_offset(column),
                 .bytes = bytes,
                 .stored = bytes,
                 .crc32 = crc32};
  align_data(entry);
  return entry;
}

// Numbers that depend on how many rows there are have one width.
std::vector<std::byte> PtArchive::pickle() const {
  PickleWriter out(2);
  if (is_dict_) {
    out.empty_dict();
    out.mark();
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TensorColumn& column = columns_[i];
    const TensorType* const type = tensor_type_of_descr(column.dtype.descr());
    if (type == nullptr) throw Error(Code::bug, "PyTorch has no dtype {}", column.dtype.descr());
    const bool is_typed = type->storage.empty();
    if (is_dict_) out.write_text(column.name);
    out.global("torch._utils", is_typed ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    out.mark();
    out.mark();
    out.write_text("storage");
    out.global(is_typed ? "torch.storage" : "torch", is_typed ? "UntypedStorage" : type->storage);
    out.write_text(std::to_string(i));
    out.write_text("cpu");
    out.write_wide_integer(static_cast<std::int64_t>(
        is_typed ? column.bytes() : column.bytes() / column.dtype.item_bytes()));
    out.end_tuple();
    out.persistent_id();
    out.write_integer(0);
    out.mark();
    for (const std::uint64_t axis : column.shape)
      out.write_wide_integer(static_cast<std::int64_t>(axis));
    out.end_tuple();
    out.mark();
    std::vector<std::uint64_t> strides(column.shape.size(), 1);
    for (std::size_t axis = strides.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * std::max<std::uint64_t>(column.shape[axis], 1);
    for (const std::uint64_t stride : strides)
      out.write_wide_integer(static_cast<std::int64_t>(stride));
    out.end_tuple();
    out.write_boolean(false);
    out.global("collections", "OrderedDict");
    out.empty_tuple();
    out.call();
    if (is_typed) out.global("torch", type->torch);
    out.end_tuple();
    out.call();
  }
  if (is_dict_) out.end_dict();
  out.stop();
  return out.take();
}

}  // namespace shale
