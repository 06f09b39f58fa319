#include "formats/hdf5/foreign/hdf5_probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_elements.hpp"

#include "formats/hdf5/foreign/hdf5_annotations.hpp"
#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/foreign/hdf5_references.hpp"
#include "formats/hdf5/foreign/hdf5_sample_walk.hpp"
#include "formats/hdf5/foreign/hdf5_whole_chunks.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

// Columns are few. A root with more objects has one dataset (or group) per sample.
constexpr std::size_t kMostObjects = 1024;
// Of all groups together: datasets that are described, and objects behind which no group is
// entered.
constexpr std::size_t kMostDatasets = 4096, kMostEntered = 65'536;
constexpr int kMostMembers = 256;  // of a compound type
// Demonstrations have a dataset per field each.
constexpr std::size_t kMostDemoObjects = 1 << 20;
constexpr int kMostDepth = 8;
// Chunks are asked for one after the other; where nearly all are missing, by their index, which
// takes the library longer with each.
constexpr hsize_t kSparse = 1000, kFewChunks = 1000;
constexpr std::size_t kChunksPerMessage = 4096;

// What failed, with the reason that the library gives.
template <class... Args>
Error failure(fmt::format_string<Args...> format, Args&&... args) {
  return hdf5_failure(fmt::format(format, std::forward<Args>(args)...));
}

template <class Id>
Id checked(Id id, std::string_view what) {
  if (id < 0) throw failure("the HDF5 library cannot read {}", what);
  return id;
}

class Describer {
 public:
  Describer(const std::string& path, bool takes_damaged, const std::function<void(Bytes)>& send)
      : file_(path, takes_damaged), takes_damaged_(takes_damaged), send_(send) {}

  void run() {
    try {
      describe();
    } catch (const Error& error) {
      throw file_.reason_of(error);
    }
  }

 private:
  void describe() {
    if (!file_.is_valid()) throw failure("the HDF5 library cannot open this file");
    describe_facts();
    if (const auto samples = find_hdf5_samples(file_.id(), takes_damaged_))
      send_(encode_sample_place(*samples));
    const Hdf5Handle root(checked(H5Oopen(file_.id(), "/", H5P_DEFAULT), "its root"), H5Oclose);
    find_datasets(root.id(), "");
    std::sort(found_.begin(), found_.end());
    for (const std::string& path : found_) {
      unless_damaged(path, [&] {
        const Hdf5Handle object = open_hdf5_object(file_.id(), path, path);
        describe_dataset(object.id(), path);
      });
    }
    if (has_data_group_) describe_demos();
  }

  // What cannot be read of a file that may be damaged is left out.
  void unless_damaged(const std::string& path, const std::function<void()>& describe) {
    try {
      describe();
    } catch (const Error& error) {
      const bool is_damage = error.code() == Code::damaged || error.code() == Code::limit;
      if (!takes_damaged_ || !is_damage || file_.reason_of(error).code() == Code::io) throw;
      send_(encode_other(fmt::format("damaged object '{}'", printable(path))));
    }
  }

  // Sorted; one more than `most` where there are more.
  [[nodiscard]] std::vector<std::string> first_names_in(hid_t group,
                                                        std::size_t most = kMostObjects) const {
    return hdf5_names_in(group, most + 1, takes_damaged_);
  }
  [[nodiscard]] std::vector<std::string> names_in(hid_t group, std::size_t most,
                                                  std::string_view where) const {
    std::vector<std::string> names = first_names_in(group, most);
    if (names.size() > most) throw too_many_hdf5_objects(most, where);
    return names;
  }

  // The groups data/demo_N, and what is in them. Only hard links are followed, and so deep that a
  // group inside of itself ends.
  void describe_demos() {
    const Hdf5Handle data = open_hdf5_object(file_.id(), "data", "data");
    std::vector<Hdf5Demo> demos;
    for (std::string& name : names_in(data.id(), kMostDemoObjects, "in the group 'data'")) {
      const std::optional<std::uint64_t> number = number_of_demo(name);
      const bool is_here = is_hdf5_hard_link(data.id(), name);
      if (!number || !is_here) {
        send_(encode_other(
            fmt::format("{} 'data/{}'", is_here ? "object" : "link", printable(name))));
        continue;
      }
      demos.push_back({.name = std::move(name), .number = *number, .samples = {}, .datasets = {}});
    }
    std::sort(demos.begin(), demos.end(), [](const Hdf5Demo& a, const Hdf5Demo& b) {
      return std::tie(a.number, a.name) < std::tie(b.number, b.name);
    });
    for (Hdf5Demo& demo : demos) {
      const std::string path = "data/" + demo.name;
      unless_damaged(path, [&] {
        const Hdf5Handle group = open_hdf5_object(data.id(), demo.name, path);
        if (H5Iget_type(group.id()) != H5I_GROUP)
          return send_(encode_other(fmt::format("object '{}'", printable(path))));
        demo.samples = attribute_of(group.id(), "num_samples");
        send_(encode_demo(demo));
        describe_group(group.id(), path, kMostDepth);
      });
    }
  }

  // A whole number that is not negative; nullopt for anything else.
  static std::optional<std::uint64_t> attribute_of(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0) return std::nullopt;
    const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute.id()), H5Sclose);
    std::int64_t value = -1;
    const bool is_number = attribute.is_valid() && type.is_valid() && space.is_valid() &&
                           H5Tget_class(type.id()) == H5T_INTEGER &&
                           H5Sget_simple_extent_npoints(space.id()) == 1 &&
                           H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) >= 0 && value >= 0;
    return is_number ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
  }

  void describe_group(hid_t group, const std::string& path, int depth_left) {
    for (const std::string& name : names_in(group, kMostObjects, "in a demonstration")) {
      if (++demo_objects_ > kMostDemoObjects)
        throw too_many_hdf5_objects(kMostDemoObjects, "in the demonstrations");
      const std::string full = fmt::format("{}/{}", path, name);
      if (!is_hdf5_hard_link(group, name)) {
        send_(encode_other(fmt::format("link '{}'", printable(full))));
        continue;
      }
      const Hdf5Handle object = open_hdf5_object(group, name, full);
      const H5I_type_t type = H5Iget_type(object.id());
      if (type == H5I_DATASET) {
        describe_dataset(object.id(), full);
      } else if (type == H5I_GROUP && depth_left > 0) {
        describe_group(object.id(), full, depth_left - 1);
      } else {
        send_(encode_other(
            fmt::format("{} '{}'", type == H5I_GROUP ? "group" : "named type", printable(full))));
      }
    }
  }

  void describe_facts() {
    const Hdf5Handle creation(checked(H5Fget_create_plist(file_.id()), "its superblock"), H5Pclose);
    hsize_t user_block = 0;
    std::size_t address_bytes = 0, length_bytes = 0;
    (void)checked(H5Pget_userblock(creation.id(), &user_block), "the size of its user block");
    (void)checked(H5Pget_sizes(creation.id(), &address_bytes, &length_bytes),
                  "the size of its addresses");
    facts_.base_address = user_block;
    facts_.address_bytes = static_cast<std::uint8_t>(address_bytes);
    facts_.length_bytes = static_cast<std::uint8_t>(length_bytes);
    const Hdf5Handle root(checked(H5Oopen(file_.id(), "/", H5P_DEFAULT), "its root"), H5Oclose);
    facts_.attributes = hdf5_attribute_texts_of(root.id());
    send_(encode_facts(facts_));
  }

  // The datasets at any depth. Links that lead elsewhere are not followed: they may lead into other
  // files. A group of more objects than a table has columns is not entered, nor is what MATLAB
  // keeps cells in, nor a group inside of itself.
  void find_datasets(hid_t group, const std::string& prefix) {
    std::vector<std::string> names = first_names_in(group);
    if (names.size() > kMostObjects) {
      if (!prefix.empty()) return other("group", prefix.substr(0, prefix.size() - 1));
      send_(encode_large_root());
      names.resize(kMostObjects);
    }
    H5G_info_t info{};
    const bool are_all = !takes_damaged_ || names.size() >= kMostObjects ||
                         (H5Gget_info(group, &info) >= 0 && info.nlinks == names.size());
    if (!are_all)
      other("damaged group", prefix.empty() ? "/" : prefix.substr(0, prefix.size() - 1));
    objects_ += names.size();
    for (const std::string& name : names) {
      const std::string path = prefix + name;
      unless_damaged(path, [&] { find_dataset(group, name, path); });
    }
  }

  void find_dataset(hid_t group, const std::string& name, const std::string& path) {
    H5L_info_t link{};
    (void)checked(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT),
                  fmt::format("the link '{}'", printable(path)));
    if (link.type != H5L_TYPE_HARD) {
      return other(link.type == H5L_TYPE_SOFT ? "soft link" : "external link", path);
    }
    const Hdf5Handle object = open_hdf5_object(group, name, path);
    const H5I_type_t type = H5Iget_type(object.id());
    if (type == H5I_DATASET && found_.size() < kMostDatasets) {
      found_.push_back(path);
    } else if (type == H5I_GROUP && is_entered(object.id(), path)) {
      const std::size_t before = found_.size() + others_;
      find_datasets(object.id(), path + "/");
      if (found_.size() + others_ == before) other("group", path);
    } else {
      other(type == H5I_DATASET ? "dataset" : type == H5I_GROUP ? "group" : "named type", path);
    }
  }

  bool is_entered(hid_t group, const std::string& path) {
    H5O_info_t info{};
    if (path == "data" && is_of_demos(group)) return false;
    return !path.starts_with('#') && std::ranges::count(path, '/') < kMostDepth &&
           objects_ < kMostEntered && H5Oget_info(group, &info) >= 0 &&
           entered_.insert(info.addr).second;
  }

  // Those are described by themselves.
  bool is_of_demos(hid_t group) {
    has_data_group_ = std::ranges::any_of(
        first_names_in(group), [](const auto& name) { return number_of_demo(name).has_value(); });
    return has_data_group_;
  }

  void other(std::string_view what, const std::string& path) {
    if (path == "#refs#") return;  // MATLAB's: what lies there is named by what refers to it
    ++others_;
    send_(encode_other(fmt::format("{} '{}'", what, printable(path))));
  }

  void describe_dataset(hid_t id, const std::string& name) {
    Hdf5Dataset dataset;
    dataset.name = name;
    const std::string what = fmt::format("dataset '{}'", printable(name));
    const Hdf5Handle type(checked(H5Dget_type(id), "the type of " + what), H5Tclose);
    describe_hdf5_type(type.id(), facts_.address_bytes, dataset);
    const Hdf5Handle layout(checked(H5Dget_create_plist(id), "the layout of " + what), H5Pclose);
    const H5D_layout_t kind = H5Pget_layout(layout.id());
    describe_filters(layout.id(), dataset);
    dataset.attributes = hdf5_attribute_texts_of(id);
    const bool is_integer = dataset.descr.size() > 1 && std::strchr("iu", dataset.descr[1]);
    if (dataset.names.empty() && is_integer && dataset.field_name() == "label")
      dataset.names = hdf5_names_in_attribute(id, kClassNamesAttribute.data());
    dataset.stored_bytes = H5Dget_storage_size(id);
    if (kind == H5D_VIRTUAL || kind == H5D_CONTIGUOUS)
      dataset.sources = hdf5_sources_of(layout.id(), kind == H5D_VIRTUAL);
    // Of what is composed of others the shape may depend on other files: it is not asked for.
    if (kind != H5D_VIRTUAL) describe_shape(id, what, dataset);
    dataset.storage = storage_of(id, layout.id());
    if (dataset.storage == Hdf5Storage::chunked) {
      std::array<hsize_t, H5S_MAX_RANK> sides{};
      const int rank =
          checked(H5Pget_chunk(layout.id(), H5S_MAX_RANK, sides.data()), "the chunks of " + what);
      dataset.chunk.assign(sides.begin(), sides.begin() + rank);
    }
    if (H5Tget_class(type.id()) == H5T_REFERENCE) {
      for (const Hdf5Dataset& column : describe_hdf5_references(id, dataset, facts_.address_bytes))
        send_(encode_dataset(column));
      return;
    }
    if (send_members(type.id(), dataset)) return;
    send_(encode_dataset(dataset));
    if (takes_damaged_) return;
    const bool has_rows = dataset.has_shape && !dataset.shape.empty() && dataset.shape[0] > 0;
    if (dataset.storage == Hdf5Storage::contiguous && has_rows)
      send_(encode_chunks({{0, H5Dget_offset(id)}}));
    if (dataset.storage == Hdf5Storage::chunked && has_rows &&
        dataset.chunk.size() == dataset.shape.size() && dataset.has_whole_rows())
      describe_chunks(id, what, dataset);
  }

  static Hdf5Storage storage_of(hid_t id, hid_t layout) {
    switch (H5Pget_layout(layout)) {
      case H5D_VIRTUAL:
        return Hdf5Storage::composed;
      case H5D_COMPACT:
        return Hdf5Storage::compact;
      case H5D_CHUNKED:
        return Hdf5Storage::chunked;
      case H5D_CONTIGUOUS:
        if (H5Pget_external_count(layout) > 0) return Hdf5Storage::external;
        // Behind a user block the offset of what was never written is one like any other.
        return H5Dget_storage_size(id) == 0 ? Hdf5Storage::absent : Hdf5Storage::contiguous;
      default:
        return Hdf5Storage::absent;
    }
  }

  // Each member of a compound type is a column, unless the whole is a complex number. False: it is
  // something else.
  bool send_members(hid_t type, const Hdf5Dataset& whole) {
    const int members = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    if (whole.type != Hdf5Type::other || members <= 0 || members > kMostMembers) return false;
    for (int i = 0; i < members; ++i) {
      const auto member = static_cast<unsigned>(i);
      const Hdf5Handle of(checked(H5Tget_member_type(type, member), "a member's type"), H5Tclose);
      Hdf5Dataset column = whole;
      column.member = hdf5_member_name(type, member);
      if (H5Tget_member_offset(type, member) + H5Tget_size(of.id()) > H5Tget_size(type))
        throw Error(Code::damaged, "dataset '{}': its member '{}' lies outside of its records",
                    printable(whole.name), printable(column.member));
      column.name += "." + column.member;
      describe_hdf5_type(of.id(), facts_.address_bytes, column);
      column.record_bytes = whole.element_bytes;
      column.stored_bytes = whole.stored_bytes / whole.element_bytes *
                            std::min(column.element_bytes, whole.element_bytes);
      send_(encode_dataset(column));
    }
    return true;
  }

  static void describe_filters(hid_t layout, Hdf5Dataset& dataset) {
    for (Hdf5Filter& filter : filters_of_layout(layout)) {
      if (filter.name.empty()) filter.name = fmt::format("filter {}", filter.number);
      dataset.filters.push_back(std::move(filter.name));
    }
  }

  static void describe_shape(hid_t id, const std::string& what, Hdf5Dataset& dataset) {
    const Hdf5Handle space(checked(H5Dget_space(id), "the shape of " + what), H5Sclose);
    dataset.has_shape = H5Sget_simple_extent_type(space.id()) != H5S_NULL;
    if (!dataset.has_shape) return;
    std::array<hsize_t, H5S_MAX_RANK> sides{}, most{};
    const int rank = checked(H5Sget_simple_extent_dims(space.id(), sides.data(), most.data()),
                             "the sides of " + what);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
      if (sides.at(i) > most.at(i))
        throw Error(Code::damaged, "{} has a side of {}, and its most is {}", what, sides.at(i),
                    most.at(i));
    }
    dataset.shape.assign(sides.begin(), sides.begin() + rank);
  }

  void describe_chunks(hid_t id, const std::string& what, const Hdf5Dataset& dataset) {
    const Hdf5Handle space(checked(H5Dget_space(id), "the extent of " + what), H5Sclose);
    hsize_t count = 0;
    (void)checked(H5Dget_num_chunks(id, space.id(), &count), "the number of chunks of " + what);
    if (dataset.shape[0] == 0 || count == 0) return;
    check_hdf5_chunk_layout(file_, id, dataset);
    std::vector<hsize_t> at(dataset.shape.size(), 0);
    const hsize_t cells = (dataset.shape[0] - 1) / dataset.chunk[0] + 1;
    const bool is_sparse = cells / kSparse > count && count <= kFewChunks;
    for (hsize_t i = 0; i < (is_sparse ? count : cells) && count > 0; ++i) {
      at[0] = i * dataset.chunk[0];
      if (is_sparse) {
        (void)checked(H5Dget_chunk_info(id, space.id(), i, at.data(), nullptr, nullptr, nullptr),
                      "the few chunks of " + what);
      }
      const std::optional<std::uint64_t> address = file_.chunk_address(id, at);
      if (!address && is_sparse) throw hdf5_chunk_not_in_index(dataset.name);
      if (!address) continue;
      chunks_.push_back({at[0] / dataset.chunk[0], *address});
      if (!is_sparse) --count;
      if (chunks_.size() == kChunksPerMessage) send_chunks();
    }
    if (!is_sparse && count > 0) throw hdf5_chunk_not_in_index(dataset.name);
    send_chunks();
  }

  void send_chunks() {
    if (!chunks_.empty()) send_(encode_chunks(chunks_));
    chunks_.clear();
  }

  Hdf5TrackedFile file_;
  bool takes_damaged_;
  const std::function<void(Bytes)>& send_;
  Hdf5Description facts_;
  std::vector<Hdf5ChunkAt> chunks_;
  std::vector<std::string> found_;  // paths of datasets
  std::set<haddr_t> entered_;       // groups
  bool has_data_group_ = false;
  std::size_t objects_ = 0, others_ = 0, demo_objects_ = 0;
};

}  // namespace

Hdf5Description probe_hdf5_file(const InputFile& file, const WalkProgress& progress,
                                bool takes_damaged) {
  Hdf5DescriptionReader description(file.size());
  // The descriptor, not the path: the same file, whatever has become of its name.
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  run_hdf5_child(
      file, child_limits_for(file.size()),
      [&](const SendMessage& send) { Describer(path, takes_damaged, send).run(); },
      [&](Bytes message) { description.take(message); },
      [&] {
        if (progress) progress(0, file.size());
      });
  Hdf5Description found = description.finish();
  // Where the library looks: beside the file, and where the command runs.
  const std::filesystem::path folder = std::filesystem::path(file.path()).parent_path();
  const auto is_there = [&](const std::string& source) {
    std::error_code ignored;
    return std::filesystem::exists(folder / source, ignored) ||
           std::filesystem::exists(source, ignored);
  };
  for (Hdf5Dataset& dataset : found.datasets) std::erase_if(dataset.sources, is_there);
  return found;
}

}  // namespace shale
