#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shale/trees/hdf5_description.hpp"

// What an HDF5 file says about its data, beside the data. Only for a child process that has nothing
// to lose (hdf5_probe.hpp); numbers are the library's hid_t.

namespace shale {

/// What the elements of a type are: type, descr, names, element_bytes of a dataset, or type_name.
void describe_hdf5_type(std::int64_t type, std::uint8_t address_bytes, Hdf5Dataset& into);

/// What the numbers of an enumeration are called, by ascending number. Empty for what is none,
/// and for one of more than 65,536.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> hdf5_names_of_numbers(
    std::int64_t type);

/// The attributes of an object, the first `most`, without those that libraries keep their books
/// with. Errors: hdf5_failure.
[[nodiscard]] std::vector<std::string> hdf5_attributes_of(std::int64_t object, std::size_t most);

/// The same attributes with what they are: numbers and strings, the first few of them, or the type
/// and shape in words.
[[nodiscard]] std::vector<NamedText> hdf5_attribute_texts_of(std::int64_t object);

/// The strings of an attribute with one axis, as the names of 0, 1, 2 ...; empty for one that has
/// others, or more than 65,536.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> hdf5_names_in_attribute(
    std::int64_t object, const char* name);

/// Whether the values of a dataset lie in its file: of any other they are not read.
[[nodiscard]] bool hdf5_lies_here(std::int64_t set);

/// The other files that a dataset of this layout lies in, each once, of the first 4,096 pieces.
/// Names with a %, which stand for any number of files, are left out.
[[nodiscard]] std::vector<std::string> hdf5_sources_of(std::int64_t layout, bool is_virtual);

}  // namespace shale
