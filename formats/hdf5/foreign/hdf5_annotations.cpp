#include "formats/hdf5/foreign/hdf5_annotations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/trees/hdf5_elements.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"

namespace shale {
namespace {

constexpr int kMostEnumNames = 1 << 16;
constexpr std::size_t kMostShownAttributes = 64, kMostSources = 4096;
constexpr std::size_t kMostPathBytes = 4096;
// What of an attribute is shown.
constexpr std::size_t kMostShownElements = 8, kMostShownBytes = 4096, kMostShownText = 80;

struct AttributeNames {
  std::vector<std::string> names = {};
  std::size_t most;
};

herr_t keep_attribute(hid_t, const char* name, const H5A_info_t*, void* into) noexcept {
  auto& found = *static_cast<AttributeNames*>(into);
  if (!is_hdf5_bookkeeping(name)) found.names.emplace_back(name);
  return found.names.size() >= found.most ? 1 : 0;
}

std::string compound_name(hid_t type) {
  constexpr int kShown = 4;
  const int members = H5Tget_nmembers(type);
  std::string names;
  for (int i = 0; i < std::min(members, kShown); ++i)
    names += (i > 0 ? ", " : "") + printable(hdf5_member_name(type, static_cast<unsigned>(i)));
  return fmt::format("a compound type ({}{})", names, members > kShown ? ", ..." : "");
}

// For types that have no kind here.
std::string name_of_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("an integer of {} bits in {} bytes", H5Tget_precision(type),
                         H5Tget_size(type));
    case H5T_FLOAT:
      return fmt::format("a float of {} bits in {} bytes", H5Tget_precision(type),
                         H5Tget_size(type));
    case H5T_TIME:
      return "an HDF5 time";
    case H5T_BITFIELD:
      return "a bit field of unusual length";
    case H5T_OPAQUE:
      return "opaque bytes of unknown meaning";
    case H5T_COMPOUND:
      return compound_name(type);
    case H5T_REFERENCE:
      return H5Tequal(type, H5T_STD_REF_DSETREG) > 0 ? "a reference to a region" : "a reference";
    case H5T_ENUM:
      return "an enumeration of unusual integers";
    case H5T_VLEN:
      return "a sequence of elements other than numbers";
    case H5T_ARRAY:
      return "an array type";
    default:
      return "an unknown type";
  }
}

template <class Number>
std::string numbers_text(hid_t attribute, hid_t memory_type, std::size_t count) {
  std::vector<Number> numbers(count);
  if (H5Aread(attribute, memory_type, numbers.data()) < 0) return {};
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::vector<std::string> strings_of(hid_t attribute, const Hdf5Handle& type,
                                    const Hdf5Handle& space, std::size_t count) {
  std::vector<std::string> texts;
  if (H5Tis_variable_str(type.id()) > 0) {
    std::vector<char*> strings(count, nullptr);
    if (H5Aread(attribute, type.id(), strings.data()) < 0) return {};
    for (const char* text : strings) texts.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, strings.data());
  } else {
    const std::size_t bytes = H5Tget_size(type.id());
    std::vector<char> padded(count * bytes);
    if (H5Aread(attribute, type.id(), padded.data()) < 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text(padded.data() + i * bytes, bytes);
      texts.emplace_back(text.substr(0, text.find_last_not_of(std::string_view("\0 ", 2)) + 1));
    }
  }
  return texts;
}

std::string strings_text(hid_t attribute, const Hdf5Handle& type, const Hdf5Handle& space,
                         std::size_t count) {
  std::vector<std::string> texts = strings_of(attribute, type, space, count);
  for (std::string& text : texts) text = fmt::format("'{}'", text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Numbers and strings, a few of them; else nothing.
std::string short_value(hid_t attribute, const Hdf5Handle& type, const Hdf5Handle& space) {
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  const bool is_short = count > 0 && static_cast<std::size_t>(count) <= kMostShownElements &&
                        H5Tget_size(type.id()) <= kMostShownBytes;
  if (!is_short) return {};
  const auto elements = static_cast<std::size_t>(count);
  switch (H5Tget_class(type.id())) {
    case H5T_INTEGER:
      return H5Tget_sign(type.id()) == H5T_SGN_NONE
                 ? numbers_text<std::uint64_t>(attribute, H5T_NATIVE_UINT64, elements)
                 : numbers_text<std::int64_t>(attribute, H5T_NATIVE_INT64, elements);
    case H5T_FLOAT:
      return numbers_text<double>(attribute, H5T_NATIVE_DOUBLE, elements);
    case H5T_STRING:
      return strings_text(attribute, type, space, elements);
    default:
      return {};
  }
}

std::string attribute_text(hid_t object, const std::string& name) {
  const Hdf5Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.id()), H5Sclose);
  if (!attribute.is_valid() || !type.is_valid() || !space.is_valid()) return {};
  std::string text = short_value(attribute.id(), type, space);
  if (text.size() > kMostShownText) text = text.substr(0, kMostShownText) + "...";
  if (!text.empty()) return text;
  Hdf5Dataset kind;
  describe_hdf5_type(type.id(), sizeof(std::uint64_t), kind);
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Sget_simple_extent_dims(space.id(), sides.data(), nullptr);
  std::vector<std::uint64_t> shape(sides.begin(), sides.begin() + std::max(rank, 0));
  shape.insert(shape.end(), kind.element_shape.begin(), kind.element_shape.end());
  return hdf5_type_text(kind) + (shape.empty() ? "" : " " + shape_text(shape));
}

// Empty for what is not a sequence of numbers.
std::string sequence_descr(hid_t type) {
  if (H5Tget_class(type) != H5T_VLEN) return {};
  const Hdf5Handle base(H5Tget_super(type), H5Tclose);
  if (!base.is_valid() || H5Tget_class(base.id()) == H5T_OPAQUE) return {};
  return hdf5_descr_of(base.id()).value_or("");
}

// Numbers or strings of one length in an array, the elements of which may be arrays, too.
void describe_array(hid_t type, std::uint8_t address_bytes, Hdf5Dataset& into) {
  constexpr std::size_t kMostSides = 8;
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Tget_array_dims2(type, sides.data());
  const Hdf5Handle element(H5Tget_super(type), H5Tclose);
  if (rank > 0 && element.is_valid()) describe_hdf5_type(element.id(), address_bytes, into);
  into.element_bytes = H5Tget_size(type);
  into.element_shape.insert(into.element_shape.begin(), sides.begin(),
                            sides.begin() + std::max(rank, 0));
  const bool is_held = (into.type == Hdf5Type::number || into.type == Hdf5Type::fixed_text) &&
                       into.element_shape.size() <= kMostSides;
  if (is_held) return;
  into.type_name = into.type == Hdf5Type::other && into.type_name.empty()
                       ? "an array type"
                       : "arrays of " + hdf5_type_text(into);
  into.type = Hdf5Type::other;
  into.element_shape.clear();
}

}  // namespace

void describe_hdf5_type(std::int64_t type, std::uint8_t address_bytes, Hdf5Dataset& into) {
  into.element_bytes = H5Tget_size(type);
  const std::optional<std::string> descr = hdf5_descr_of(type);
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class == H5T_ARRAY) return describe_array(type, address_bytes, into);
  const bool is_text = type_class == H5T_STRING, is_vlen_text = is_text && H5Tis_variable_str(type);
  if (descr) {
    into.type = Hdf5Type::number;
    into.descr = *descr;
    if (*descr != "|b1") into.names = hdf5_names_of_numbers(type);
  } else if (is_text && !is_vlen_text) {
    into.type = Hdf5Type::fixed_text;
    into.descr = fmt::format("|S{}", into.element_bytes);
  } else if (const std::string numbers = sequence_descr(type); is_vlen_text || !numbers.empty()) {
    const bool is_bytes = numbers == "|u1";
    into.type = is_vlen_text ? Hdf5Type::vlen_text
                : is_bytes   ? Hdf5Type::vlen_bytes
                             : Hdf5Type::vlen_numbers;
    if (into.type == Hdf5Type::vlen_numbers) into.descr = numbers;
    // What the library calls its size is that of the pointer in memory.
    into.element_bytes = 4 + std::uint64_t{address_bytes} + 4;
  } else {
    into.type_name = name_of_type(type);
  }
  if (into.element_bytes == 0) into.element_bytes = 1;
}

std::vector<std::pair<std::int64_t, std::string>> hdf5_names_of_numbers(std::int64_t type) {
  std::vector<std::pair<std::int64_t, std::string>> names;
  const int members = H5Tget_class(type) == H5T_ENUM ? H5Tget_nmembers(type) : 0;
  if (members <= 0 || members > kMostEnumNames) return names;
  const Hdf5Handle base(H5Tget_super(type), H5Tclose);
  for (int i = 0; i < members; ++i) {
    std::array<std::byte, 64> value{};
    const auto member = static_cast<unsigned>(i);
    const bool is_read =
        base.is_valid() && H5Tget_size(type) <= value.size() &&
        H5Tget_member_value(type, member, value.data()) >= 0 &&
        H5Tconvert(base.id(), H5T_NATIVE_INT64, 1, value.data(), nullptr, H5P_DEFAULT) >= 0;
    if (!is_read) return {};
    std::int64_t number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    names.emplace_back(number, hdf5_member_name(type, member));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::pair<std::int64_t, std::string>> hdf5_names_in_attribute(std::int64_t object,
                                                                          const char* name) {
  std::vector<std::pair<std::int64_t, std::string>> names;
  if (H5Aexists(object, name) <= 0) return names;
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.id()), H5Sclose);
  if (!attribute.is_valid() || !type.is_valid() || !space.is_valid()) return names;
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (H5Tget_class(type.id()) != H5T_STRING || H5Sget_simple_extent_ndims(space.id()) != 1 ||
      count <= 0 || count > kMostEnumNames)
    return names;
  const auto elements = static_cast<std::size_t>(count);
  for (std::string& text : strings_of(attribute.id(), type, space, elements))
    names.emplace_back(static_cast<std::int64_t>(names.size()), std::move(text));
  return names;
}

std::vector<std::string> hdf5_attributes_of(std::int64_t object, std::size_t most) {
  AttributeNames found{.most = most};
  if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, &keep_attribute, &found) < 0)
    throw hdf5_failure("the HDF5 library cannot read the attributes");
  return std::move(found.names);
}

std::vector<NamedText> hdf5_attribute_texts_of(std::int64_t object) try {
  std::vector<NamedText> attributes;
  for (std::string& name : hdf5_attributes_of(object, kMostShownAttributes)) {
    std::string text = attribute_text(object, name);
    attributes.push_back({std::move(name), std::move(text)});
  }
  return attributes;
} catch (const Error&) {
  return {};  // they are shown beside the data, which are what counts
}

bool hdf5_lies_here(std::int64_t set) {
  const Hdf5Handle layout(H5Dget_create_plist(set), H5Pclose);
  const H5D_layout_t kind = H5Pget_layout(layout.id());
  return layout.is_valid() && kind != H5D_VIRTUAL &&
         (kind != H5D_CONTIGUOUS || H5Pget_external_count(layout.id()) == 0);
}

std::vector<std::string> hdf5_sources_of(std::int64_t layout, bool is_virtual) {
  std::vector<std::string> sources;
  std::size_t count = 0;
  if (is_virtual) {
    if (H5Pget_virtual_count(layout, &count) < 0) return sources;
  } else {
    count = static_cast<std::size_t>(std::max(H5Pget_external_count(layout), 0));
  }
  for (std::size_t i = 0; i < std::min(count, kMostSources); ++i) {
    std::array<char, kMostPathBytes + 1> name{};
    off_t offset = 0;
    hsize_t bytes = 0;
    const bool is_read = is_virtual
                             ? H5Pget_virtual_filename(layout, i, name.data(), name.size() - 1) >= 0
                             : H5Pget_external(layout, static_cast<unsigned>(i), name.size() - 1,
                                               name.data(), &offset, &bytes) >= 0;
    std::string text(name.data());
    const bool is_other =
        is_read && !text.empty() && text != "." && text.find('%') == std::string::npos;
    if (is_other && std::ranges::find(sources, text) == sources.end())
      sources.push_back(std::move(text));
  }
  return sources;
}

}  // namespace shale
