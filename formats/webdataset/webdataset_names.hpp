#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shale/base/unread_bytes.hpp"
#include "shale/data/schema.hpp"

// What the names of members say. A sample is a run of members with one key: n01/x.jpg, n01/x.cls.
// The key is what stands before the first dot of the base name, the extension all that follows it.
// Source: webdataset 1.0.2, tariterators.py, base_plus_ext().

namespace shale {

struct MemberName {
  std::string_view key, extension;
};
/// As webdataset divides a name; nullopt for those that it passes over: without a dot, or of the
/// form __x__ at the top. Of "dir/._a.jpg" the key is "dir/".
[[nodiscard]] std::optional<MemberName> split_member_name(std::string_view path);

/// What webdataset's decoders make of an extension, by its last part in lower case.
enum class ExtensionKind { image, text, json, integer, npy, npz, other };
[[nodiscard]] ExtensionKind kind_of_extension(std::string_view extension);

/// The extension of these bytes: "jpg" and others for images, else "bin".
[[nodiscard]] std::string_view extension_of_content(Bytes head);
[[nodiscard]] std::string_view extension_of_content(const AnyBytes& bytes);

/// The key of the members of a sample: without the suffix of an image, if it does not stay, with
/// %XX for each byte that readers stumble over. Never empty, and never with a dot in its base name.
[[nodiscard]] std::string member_key(std::string_view key, bool keeps_suffix);

/// Where a member that shale wrote has the sample's key: the first one of each sample.
inline constexpr std::string_view kKeyRecord = "SHALE.key", kRealRecord = "SHALE.real";
/// The extension of the only member of a sample without any value.
inline constexpr std::string_view kNothingExtension = "empty";

/// How shale names the members of a field.
struct FieldMembers {
  std::string stem;       ///< "caption", or empty: the extension stands alone
  std::string extension;  ///< its last part; empty: by the content
  bool is_list = false;

  /// Of a value, or of the element of a list: `by_content` stands in for the last part.
  [[nodiscard]] std::string extension_of(std::string_view by_content) const;
  [[nodiscard]] std::string extension_of_element(std::uint64_t number,
                                                 std::string_view by_content) const;
  /// Of the member that stands for a list without elements.
  [[nodiscard]] std::string extension_of_empty_list() const;
};

/// What an extension of a member means in a shard of shale's.
struct FieldMember {
  std::size_t field = 0;
  std::optional<std::uint64_t> element = {};
  bool is_empty_list = false;
  std::string_view by_content = {};  ///< its last part, where the content chooses it
};

/// The names of all fields of a schema.
class MemberNames {
 public:
  /// Errors: Code::schema for fields whose names differ in nothing but case.
  explicit MemberNames(const Schema& schema);

  [[nodiscard]] const FieldMembers& operator[](std::size_t field) const { return fields_[field]; }
  /// Nullopt for an extension that shale does not write with this schema.
  [[nodiscard]] std::optional<FieldMember> find(std::string_view extension) const;

 private:
  std::vector<FieldMembers> fields_;
  std::unordered_map<std::string, std::size_t> by_stem_, alone_;
  std::optional<std::size_t> by_content_alone_;
};

}  // namespace shale
