#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/format.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

// The file, and how the kernel was told to read it.
struct MapFile {
  explicit MapFile(const std::string& path) : file(path) {}

  InputFile file;
  std::optional<SparseReading> sparse = {};
};

struct OpenMap {
  std::shared_ptr<const InputFile> file;
  std::shared_ptr<const KeyMap> map;
};

struct OpenCursor {
  std::shared_ptr<const InputFile> file;
  std::unique_ptr<KeyCursor> cursor;
};

// Raises what shale.lmdb makes of an error.
[[noreturn]] void raise_as_lmdb(const Error& error) {
  std::string text = error.what();
  if (!error.hint().empty()) text += "; hint: " + error.hint();
  const char* kind = error.code() == Code::damaged       ? "damaged"
                     : error.code() == Code::unsupported ? "unsupported"
                                                         : "other";
  // A path need not be text: it comes as os.fsdecode() gives it.
  const nb::object raised =
      call_python(import_name("shale.lmdb", "_error_of"), kind, text_of_bytes(text));
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
  throw nb::python_error();
}

// Runs `act` without the interpreter's lock: it may wait for a disk.
template <class Act>
auto unlocked(Act act) {
  try {
    const Unlocked unlocked;
    return act();
  } catch (const Error& error) {
    raise_as_lmdb(error);
  }
}

// Bytes of a caller's object, which stay where they are while this lives. Errors: as py-lmdb's.
class KeyArgument {
 public:
  explicit KeyArgument(nb::handle object) {
    if (PyUnicode_Check(object.ptr())) {
      throw nb::type_error("Won't implicitly convert Unicode to bytes; use .encode()");
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~KeyArgument() { PyBuffer_Release(&view_); }
  KeyArgument(const KeyArgument&) = delete;
  KeyArgument& operator=(const KeyArgument&) = delete;

  [[nodiscard]] Bytes bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

nb::bytes to_python(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// The value, read straight into the object that Python gets. Its size has been checked against the
// file's.
nb::object value_of(const InputFile& file, const KeyMapEntry& entry) {
  if (entry.value) return to_python(*entry.value);
  FreshBytes bytes(entry.value_bytes);
  unlocked([&] { file.read_exact(entry.value_offset, bytes.memory); });
  return std::move(bytes.object);
}

OpenMap open_map(const nb::bytes& file_name, bool is_sparse) {
  const std::string path(file_name.c_str(), file_name.size());
  return unlocked([&]() -> OpenMap {
    auto opened = std::make_shared<MapFile>(path);
    if (is_sparse) opened->sparse.emplace(opened->file);
    std::shared_ptr<const InputFile> file(opened, &opened->file);
    const Format* format = detect_file(*file);
    if (format == nullptr || format->open_map == nullptr) {
      throw Error(Code::damaged, "is not a map of keys").at(path);
    }
    auto map = format->open_map(file);
    return {std::move(file), std::move(map)};
  });
}

OpenMap renewed(const OpenMap& self) {
  return unlocked([&]() -> OpenMap { return {self.file, self.map->renewed()}; });
}

nb::dict facts_of(const OpenMap& self) {
  const KeyMapFacts& facts = self.map->facts();
  nb::dict found;
  found["psize"] = facts.page_bytes;
  found["depth"] = facts.depth;
  found["branch_pages"] = facts.branch_pages;
  found["leaf_pages"] = facts.leaf_pages;
  found["overflow_pages"] = facts.overflow_pages;
  found["entries"] = facts.entries;
  found["last_pgno"] = facts.last_page;
  found["last_txnid"] = facts.transaction;
  found["map_size"] = facts.map_bytes;
  found["integerkey"] = facts.has_integer_keys;
  found["reverse_key"] = facts.has_reverse_keys;
  return found;
}

nb::object find(const OpenMap& self, nb::handle key) {
  const KeyArgument wanted(key);
  const std::optional<KeyMapEntry> entry = unlocked([&] { return self.map->find(wanted.bytes()); });
  if (!entry) return nb::none();
  if (entry->is_database) return nb::cast(true);
  return value_of(*self.file, *entry);
}

// Moves a copy, and then takes it: whichever threads use the cursor, and wherever a fork happens,
// it is a whole one. The interpreter's lock guards the taking.
template <class Move>
bool move(OpenCursor& self, Move act) {
  std::unique_ptr<KeyCursor> moved = self.cursor->clone();
  const bool has_entry = unlocked([&] { return act(*moved); });
  self.cursor.swap(moved);
  return has_entry;
}

std::optional<KeyMapEntry> current(const OpenCursor& self) {
  try {
    return self.cursor->current();
  } catch (const Error& error) {
    raise_as_lmdb(error);
  }
}

nb::object key_at(const OpenCursor& self) {
  const auto entry = current(self);
  return to_python(entry ? entry->key : Bytes());
}

nb::object value_at(const OpenCursor& self) {
  const auto entry = current(self);
  return entry ? value_of(*self.file, *entry) : to_python({});
}

nb::object item_at(const OpenCursor& self) {
  const auto entry = current(self);
  if (!entry) return nb::make_tuple(to_python({}), to_python({}));
  return nb::make_tuple(to_python(entry->key), value_of(*self.file, *entry));
}

bool is_database_at(const OpenCursor& self) {
  const auto entry = current(self);
  return entry && entry->is_database;
}

}  // namespace

void bind_maps(nb::module_& module) {
  nb::class_<OpenMap>(module, "KeyMap", "A sorted map of keys to values in a file, at one moment.")
      .def("renewed", renewed, "The map as it is in the file now.")
      .def("facts", facts_of, "Numbers from the file's own records.")
      .def("find", find, nb::arg("key").none(),
           "The value; None if there is none; True for a named database.")
      .def("cursor", [](const OpenMap& self) {
        return OpenCursor{self.file, self.map->cursor()};
      });
  nb::class_<OpenCursor>(module, "KeyCursor",
                         "A place in a map. Moves return whether they found an entry.")
      .def("first", [](OpenCursor& self) { return move(self, std::mem_fn(&KeyCursor::first)); })
      .def("last", [](OpenCursor& self) { return move(self, std::mem_fn(&KeyCursor::last)); })
      .def("next", [](OpenCursor& self) { return move(self, std::mem_fn(&KeyCursor::next)); })
      .def("prev", [](OpenCursor& self) { return move(self, std::mem_fn(&KeyCursor::prev)); })
      .def(
          "seek",
          [](OpenCursor& self, nb::handle key) {
            const KeyArgument wanted(key);
            return move(self, [&](KeyCursor& cursor) { return cursor.seek(wanted.bytes()); });
          },
          nb::arg("key").none())
      .def(
          "seek_range",
          [](OpenCursor& self, nb::handle key) {
            const KeyArgument wanted(key);
            return move(self, [&](KeyCursor& cursor) { return cursor.seek_range(wanted.bytes()); });
          },
          nb::arg("key").none())
      .def("key", key_at)
      .def("value", value_at)
      .def("item", item_at)
      .def("is_database", is_database_at);
  module.def("open_map", open_map, nb::arg("path"), nb::arg("is_sparse"));
}

}  // namespace shale::python
