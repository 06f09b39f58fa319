#include "formats/hdf5/foreign/hdf5_references.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/base/utf16.hpp"
#include "shale/trees/hdf5_elements.hpp"

#include "formats/hdf5/foreign/hdf5_annotations.hpp"
#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"

namespace shale {
namespace {

static_assert(sizeof(hobj_ref_t) == sizeof(std::uint64_t));

constexpr std::uint64_t kMostReferences = 1 << 22, kFirstReferences = 256;
constexpr std::uint64_t kMostReferredBytes = 1 << 30;  // of one value
constexpr std::size_t kMostStructMembers = 64;

// What a value is: text, or numbers of one dtype. Nothing of an empty array of MATLAB's.
struct ReferredKind {
  bool is_text = false, is_empty = false;
  std::string descr = {};  // little-endian
  std::string other = {};  // in words, if it is of no kind
};

Hdf5Handle open_referred(hid_t from, std::uint64_t reference) {
  return {H5Rdereference2(from, H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose};
}

bool is_reference_type(hid_t type) { return H5Tequal(type, H5T_STD_REF_OBJ) > 0; }

std::uint64_t elements_of(hid_t set) {
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

// Whether at most one of its sides is not 1.
bool is_line(hid_t set) {
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Sget_simple_extent_dims(space.id(), sides.data(), nullptr);
  return rank >= 0 && std::count_if(sides.begin(), sides.begin() + rank,
                                    [](hsize_t side) { return side != 1; }) <= 1;
}

std::vector<std::uint64_t> references_in(hid_t set) {
  const std::uint64_t count = elements_of(set);
  if (count > kMostReferences)
    throw Error(Code::limit, "a dataset has more than {} references", kMostReferences);
  std::vector<std::uint64_t> references(count);
  if (count > 0 &&
      H5Dread(set, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0)
    throw hdf5_failure("the HDF5 library cannot read references");
  return references;
}

// "char", "cell"; empty if MATLAB has not made it.
std::string matlab_class_of(hid_t object) {
  if (H5Aexists(object, "MATLAB_class") <= 0) return {};
  const Hdf5Handle attribute(H5Aopen(object, "MATLAB_class", H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose);
  std::array<char, 64> name{};
  const bool is_name = type.is_valid() && H5Tget_class(type.id()) == H5T_STRING &&
                       H5Tis_variable_str(type.id()) == 0 && H5Tget_size(type.id()) < name.size();
  if (!is_name || H5Aread(attribute.id(), type.id(), name.data()) < 0) return {};
  return name.data();
}

ReferredKind kind_of_dataset(hid_t set, int depth_left) {
  if (!hdf5_lies_here(set)) return {.other = "datasets whose values lie in other files"};
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  const std::string matlab_class = matlab_class_of(set);
  if (H5Aexists(set, "MATLAB_empty") > 0)
    return {.is_text = matlab_class == "char", .is_empty = true};
  if (elements_of(set) > 1 && !is_line(set)) return {.other = "arrays of several axes"};
  if (is_reference_type(type.id())) {
    if (depth_left == 0) return {.other = "references to references"};
    ReferredKind kind;
    for (const std::uint64_t reference : references_in(set)) {
      const Hdf5Handle number = open_referred(set, reference);
      if (H5Iget_type(number.id()) != H5I_DATASET) return {.other = "references to groups"};
      const ReferredKind of = kind_of_dataset(number.id(), 0);
      const bool is_alike = kind.descr.empty() || kind.descr == of.descr;
      if (!of.other.empty() || of.is_text || of.is_empty || !is_alike ||
          elements_of(number.id()) != 1)
        return {.other = "references to what are not single numbers"};
      kind = of;
    }
    kind.is_empty = kind.descr.empty();
    return kind;
  }
  std::string descr = hdf5_descr_of(type.id()).value_or("");
  const bool is_bool_or_time =
      descr.size() > 1 && std::string_view("iufc").find(descr[1]) == std::string_view::npos;
  if (descr.empty() || is_bool_or_time) {
    Hdf5Dataset of;
    describe_hdf5_type(type.id(), sizeof(std::uint64_t), of);
    return {.other = hdf5_type_text(of)};
  }
  if (descr[0] == '>') descr[0] = '<';
  return {.is_text = matlab_class == "char" && descr == "<u2", .descr = descr};
}

ReferredKind kind_of_member(hid_t group, const std::string& member) {
  H5L_info_t link{};
  const bool is_here =
      H5Lget_info(group, member.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  if (!is_here) return {.other = "groups of other members"};
  const Hdf5Handle set(H5Oopen(group, member.c_str(), H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(set.id()) != H5I_DATASET) return {.other = "groups of groups"};
  return kind_of_dataset(set.id(), 1);
}

// What the first references lead to, all of them; `member` is empty for datasets.
ReferredKind kind_of_all(hid_t set, const std::vector<std::uint64_t>& references,
                         const std::string& member) {
  ReferredKind all{.is_empty = true};
  const std::uint64_t looked = std::min<std::uint64_t>(references.size(), kFirstReferences);
  for (std::uint64_t i = 0; i < looked; ++i) {
    const Hdf5Handle object = open_referred(set, references[i]);
    if (!object.is_valid()) return {.other = "nothing"};
    const H5I_type_t expected = member.empty() ? H5I_DATASET : H5I_GROUP;
    if (H5Iget_type(object.id()) != expected) return {.other = "objects of several kinds"};
    ReferredKind kind =
        member.empty() ? kind_of_dataset(object.id(), 0) : kind_of_member(object.id(), member);
    if (!kind.other.empty()) return kind;
    if (kind.is_empty) {
      all.is_text = all.is_text || (all.is_empty && kind.is_text);
    } else if (all.is_empty) {
      all = kind;
    } else if (all.is_text != kind.is_text || all.descr != kind.descr) {
      return {.other = "values of several types"};
    }
  }
  if (all.descr.empty()) all.descr = "<f8";  // MATLAB's [] is a double
  return all;
}

Hdf5Dataset column_of(const Hdf5Dataset& whole, const ReferredKind& kind, std::uint64_t rows,
                      std::uint8_t address_bytes) {
  Hdf5Dataset column = whole;
  if (!kind.other.empty()) {
    column.type_name = "references to " + kind.other;
    return column;
  }
  column.type = kind.is_text          ? Hdf5Type::vlen_text
                : kind.descr == "|u1" ? Hdf5Type::vlen_bytes
                                      : Hdf5Type::vlen_numbers;
  column.descr = column.type == Hdf5Type::vlen_numbers ? kind.descr : "";
  column.type_name.clear();
  column.element_bytes = 4 + std::uint64_t{address_bytes} + 4;
  column.shape = {rows};
  column.storage = Hdf5Storage::referred;
  column.chunk.clear();
  return column;
}

std::vector<std::byte> numbers_in(hid_t set, const std::string& path) {
  const Hdf5Handle layout(H5Dget_create_plist(set), H5Pclose);
  check_hdf5_filters(layout.id(), path);
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  const bool is_turned = H5Tget_order(type.id()) == H5T_ORDER_BE;
  const Hdf5Handle memory(is_turned ? little_endian_hdf5_type(type.id()) : H5Tcopy(type.id()),
                          H5Tclose);
  if (!memory.is_valid()) throw hdf5_failure("the byte order of numbers cannot be converted");
  const std::uint64_t item = H5Tget_size(memory.id()), count = elements_of(set);
  if (item == 0 || count > kMostReferredBytes / item) {
    throw Error(Code::limit, "dataset '{}' refers to an array of more than {}", printable(path),
                format_size(kMostReferredBytes));
  }
  std::vector<std::byte> numbers(count * item);
  if (count > 0 && H5Dread(set, memory.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) < 0) {
    throw hdf5_failure(
        fmt::format("the HDF5 library cannot read what '{}' refers to", printable(path)));
  }
  return numbers;
}

std::vector<std::byte> values_in(hid_t set, const std::string& path) {
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  if (!is_reference_type(type.id())) return numbers_in(set, path);
  std::vector<std::byte> values;
  for (const std::uint64_t reference : references_in(set)) {
    const Hdf5Handle number = open_referred(set, reference);
    const std::vector<std::byte> bytes = numbers_in(number.id(), path);
    values.insert(values.end(), bytes.begin(), bytes.end());
  }
  return values;
}

std::vector<Hdf5Dataset> columns_of(hid_t set, const Hdf5Dataset& whole,
                                    std::uint8_t address_bytes) {
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  const std::uint64_t rows = is_reference_type(type.id()) && whole.has_shape ? elements_of(set) : 0;
  if (rows == 0 || rows > kMostReferences || !is_line(set) || !hdf5_lies_here(set)) return {whole};
  const Hdf5Handle layout(H5Dget_create_plist(set), H5Pclose);
  check_hdf5_filters(layout.id(), whole.name);
  const std::vector<std::uint64_t> references = references_in(set);
  const Hdf5Handle first = open_referred(set, references.front());
  if (!first.is_valid() || H5Iget_type(first.id()) != H5I_GROUP)
    return {column_of(whole, kind_of_all(set, references, ""), rows, address_bytes)};
  const std::vector<std::string> members = hdf5_names_in(first.id(), kMostStructMembers);
  std::vector<Hdf5Dataset> columns;
  for (const std::string& member : members) {
    Hdf5Dataset column =
        column_of(whole, kind_of_all(set, references, member), rows, address_bytes);
    column.member = member;
    column.name += "." + member;
    columns.push_back(std::move(column));
  }
  return columns.empty() ? std::vector{whole} : columns;
}

}  // namespace

std::vector<Hdf5Dataset> describe_hdf5_references(std::int64_t set, const Hdf5Dataset& whole,
                                                  std::uint8_t address_bytes) {
  try {
    return columns_of(set, whole, address_bytes);
  } catch (const Error&) {
    return {whole};  // left out as references: other datasets may be whole
  }
}

Hdf5ReferredValues::Hdf5ReferredValues(std::int64_t set, const Hdf5Dataset& column)
    : set_(set), column_(column), references_(references_in(set)) {}

std::vector<std::byte> Hdf5ReferredValues::at(std::uint64_t row) const {
  const auto differs = [&](std::string_view what) {
    return Error(Code::unsupported, "dataset '{}' refers to {} in row {}, unlike in the first",
                 printable(column_.name), what, row)
        .hint("name the other fields with --fields");
  };
  Hdf5Handle object = open_referred(set_, references_.at(row));
  const H5I_type_t expected = column_.member.empty() ? H5I_DATASET : H5I_GROUP;
  if (!object.is_valid() || H5Iget_type(object.id()) != expected)
    throw differs("an object of another kind");
  const ReferredKind kind = column_.member.empty() ? kind_of_dataset(object.id(), 0)
                                                   : kind_of_member(object.id(), column_.member);
  if (!kind.other.empty()) throw differs(kind.other);
  if (kind.is_empty) return {};
  const bool is_text = column_.type == Hdf5Type::vlen_text;
  const std::string descr = column_.type == Hdf5Type::vlen_bytes ? "|u1" : column_.descr;
  if (kind.is_text != is_text || (!is_text && kind.descr != descr))
    throw differs("values of another type");
  if (!column_.member.empty())
    object = Hdf5Handle(H5Oopen(object.id(), column_.member.c_str(), H5P_DEFAULT), H5Oclose);
  std::vector<std::byte> values = values_in(object.id(), column_.name);
  if (!is_text) return values;
  const std::string text = utf8_of_utf16(values);  // MATLAB's
  return {as_bytes(text).begin(), as_bytes(text).end()};
}

}  // namespace shale
