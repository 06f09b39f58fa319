#include "shale/data/common_field.hpp"

namespace shale {
namespace {

bool is_string(const Field& field) { return field.kind == Kind::text || field.kind == Kind::bytes; }

bool is_one_value(const Field& field) {
  return field.kind != Kind::list && field.kind != Kind::tensor;
}

bool is_list_of(const Field& wide, const Field& narrow) {
  if (wide.kind == Kind::list) return is_located(narrow.kind);
  return wide.shape.size() == 1 && ((narrow.kind == Kind::integer && wide.dtype.descr() == "<i8") ||
                                    (narrow.kind == Kind::real && wide.dtype.descr() == "<f4"));
}

// One value becomes as many as there are.
void make_list(Field& narrow, const Field& wide) {
  narrow.kind = wide.kind;
  narrow.dtype = wide.dtype;
  narrow.elements = wide.elements;
  narrow.is_json = wide.is_json;
  narrow.shape = wide.shape;
  if (wide.kind == Kind::tensor) narrow.shape = {kFreeSide};
}

// Both are strings, or differ in no more than their sides and the kind of their elements.
bool are_alike(const Field& one, const Field& other) {
  if (is_string(one) && is_string(other)) return true;
  return one.kind == other.kind && one.dtype == other.dtype &&
         one.shape.size() == other.shape.size();
}

}  // namespace

bool widen(Field& known, const Field& found) {
  if (!are_alike(known, found)) return false;
  if (is_string(known)) {
    if (found.kind == Kind::bytes) known.kind = Kind::bytes;
    known.is_json = known.is_json && found.is_json;
    return true;
  }
  if (found.elements == Kind::bytes) known.elements = Kind::bytes;
  for (std::size_t axis = 0; axis < known.shape.size(); ++axis) {
    if (known.shape[axis] != found.shape[axis]) known.shape[axis] = kFreeSide;
  }
  return true;
}

bool is_wide_enough(const Field& known, const Field& found) {
  if (!are_alike(known, found)) return false;
  if (is_string(known))
    return (known.kind == Kind::bytes || found.kind == Kind::text) &&
           (!known.is_json || found.is_json);
  return (known.elements == Kind::bytes || found.elements != Kind::bytes) &&
         shape_fits(found.shape, known.shape);
}

bool widen_to_lists(Field& known, Field found) {
  if (is_one_value(known) && !is_one_value(found) && is_list_of(found, known))
    make_list(known, found);
  else if (!is_one_value(known) && is_one_value(found) && is_list_of(known, found))
    make_list(found, known);
  return widen(known, found);
}

}  // namespace shale
