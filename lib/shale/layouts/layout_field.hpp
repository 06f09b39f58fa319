#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"

namespace shale::layouts {

struct NumberList;

/// A field of one value: what it is, and where. It is optional if it is None, of no kind.
struct LayoutField {
  Field field;
  IndexCell cell;
  std::vector<FieldPlace> elements = {};  ///< of a list
  bool may_lack = false;                  ///< other values need not have it
  std::string fault = {};  ///< why no field can hold it; it is then as if it was None
  std::shared_ptr<NumberList> numbers = {};  ///< what convert makes an array of (number_list.hpp)
};

/// A value that is to be taken apart: `length` bytes from `begin` of the view; `where` goes into
/// errors.
struct StoredValue {
  const ViewBytes& view;
  std::uint64_t begin, length;
  std::string_view where;
};

/// The most components that a value may have as fields.
inline constexpr std::size_t kMostFields = 1'024;

[[nodiscard]] LayoutField placed_field(std::string_view name, Kind kind, const FieldPlace& place);
[[nodiscard]] LayoutField integer_field(std::string_view name, std::int64_t number);
[[nodiscard]] LayoutField real_field(std::string_view name, double number);

// What tensorpack's values are made of, whichever way they were serialized.

/// An array of NumPy whose elements lie in `data`: one of uint8 in one dimension is bytes. Nullopt
/// if its shape does not have the size of `data`. Errors: Code::limit for a shape beyond 2^63
/// bytes.
[[nodiscard]] std::optional<LayoutField> array_field(std::string_view name, DType dtype,
                                                     std::vector<std::uint64_t> shape,
                                                     const FieldPlace& data);
/// The number that lies at `offset`. Nullopt for a dtype that is not a number of up to 64 bits.
/// Errors: what the view throws; Code::damaged for a bool that is neither 0 nor 1.
[[nodiscard]] std::optional<LayoutField> number_field(std::string_view name, const DType& dtype,
                                                      const ViewBytes& view, std::uint64_t offset);
/// Gives two components, an image and an integer, these names: nearly all of these files have them.
void name_image_and_label(std::vector<LayoutField>& components);

/// The field of this name; null if there is none. `at`: where it probably is.
[[nodiscard]] const LayoutField* find_field(const std::vector<LayoutField>& found,
                                            std::string_view name, std::size_t at);
/// Whether a value has each field of the schema once, if it must be there, and else None and what
/// others may lack.
[[nodiscard]] bool fit_schema(const std::vector<LayoutField>& found, const Schema& schema);

/// What the values of a file have in common, as they are met one after the other: sides along which
/// arrays differ are free, what some values lack is optional, strings are text where all are. Of
/// what values may lack, that is left out which no field can hold: a value of it has a fault, or is
/// of another kind, dtype or rank than before.
class CommonFields {
 public:
  /// `key`: of the value. Errors: Code::unsupported, naming the field, for one that would be left
  /// out but may not, one that is there twice, one that is missing but may not be, more than
  /// kMostFields.
  void add(const std::vector<LayoutField>& found, std::string_view key = {});
  /// The field of this name, as far as it is known; null: none. `at`: where it probably is.
  [[nodiscard]] const Field* find(std::string_view name, std::size_t at) const;
  [[nodiscard]] bool is_empty() const { return fields_.empty() && unheld_.empty(); }

  /// The fields, in the order in which they were met. What is None in all values is left out.
  /// Errors: Code::unsupported where nothing but what no field can hold is left.
  [[nodiscard]] Survey survey(Dialect dialect) &&;

 private:
  struct Unheld {
    std::string name, key, fault, reason;
  };
  void take(const LayoutField& one, std::size_t at, std::string_view key);
  void leave_out(const LayoutField& one, std::string_view key, std::string fault,
                 std::string reason);
  [[nodiscard]] std::size_t place_of(std::string_view name, std::size_t at) const;

  std::vector<Field> fields_;
  std::vector<std::uint64_t> last_met_;  // a field each: the number of the value that had it
  std::vector<std::string> without_value_;
  std::vector<Unheld> unheld_;
  std::uint64_t values_ = 0;
  bool has_text_elements_ = false;
};

}  // namespace shale::layouts
