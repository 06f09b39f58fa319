#include "shale/report/snippets.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/row_storage.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

// What the snippets speak of.
class SnippetMaker {
 public:
  SnippetMaker(ReportedSet& set, const std::vector<FieldUse>& uses) : set_(set), uses_(uses) {
    if (set.loader().shard_count() > 0) shard_ = set.loader().shard_facts(0);
    const std::optional<std::size_t> shown = shown_field(uses);
    value_ = shown.value_or(0);
    choose_value_that_is_there();
  }

  Json make() {
    Json snippets = Json::array();
    const auto add = [&](const char* title, const char* language, const std::string& code) {
      if (!code.empty())
        snippets.push_back({{"title", title}, {"language", language}, {"code", code}});
    };
    add("shale, in Python", "python", by_shale());
    if (shard_) {
      const auto [title, code] = own_reader();
      add(title, "python", code);
      add("no library but NumPy", "python",
          manifest().layout.rows.has_index() ? by_index() : by_strides());
    }
    add("shale, in a shell", "sh", by_shell());
    return snippets;
  }

 private:
  // The code reads the first sample, which may lack a value where others have one.
  void choose_value_that_is_there() {
    const std::uint64_t row = 0;
    if (set_.samples() == 0) return;
    const FoundRows found = find_rows(set_.loader(), {&row, 1});
    if (found.samples.empty()) return;
    first_ = found.samples.front().place.cells;
    for (std::size_t i = 0; i < uses_.size() && is_missing(value_); ++i)
      if (is_located(set_.schema().fields[i].kind) && !is_missing(i)) value_ = i;
  }

  [[nodiscard]] bool is_missing(std::size_t field) const {
    return field < first_.size() && is_located(set_.schema().fields[field].kind) &&
           first_[field].place.offset == kMissing;
  }

  // A line for a set that has a first sample.
  [[nodiscard]] std::string if_any(std::string line) const {
    return set_.samples() > 0 ? std::move(line) : std::string();
  }

  [[nodiscard]] const Manifest& manifest() const { return set_.manifest(); }
  [[nodiscard]] bool is_of_one_file() const { return manifest().layout.is_of_one_file(); }
  [[nodiscard]] bool is_own() const { return manifest().layout.dialect == Dialect::own; }
  [[nodiscard]] const Field& value_field() const { return set_.schema().fields[value_]; }
  [[nodiscard]] std::string name_of_field(std::size_t field) const {
    return python_repr(set_.schema().fields[field].name);
  }

  // A file of the first shard.
  [[nodiscard]] std::string file_path(std::size_t number) const {
    const std::string& name = shard_->files[number].name;
    return is_of_one_file() ? set_.request().dataset : join_path(set_.request().dataset, name);
  }
  [[nodiscard]] std::string file_of_field(std::size_t field) const {
    const ShardLayout& layout = manifest().layout;
    return file_path(layout.part_file[layout.field_part[field]]);
  }

  [[nodiscard]] std::string by_shale() const {
    std::string options;
    if (!set_.request().index_folder.empty())
      options += ", index_dir=" + python_path(set_.request().index_folder);
    if (set_.request().dialect)
      options += fmt::format(", parse=\"{}\"", name_of(*set_.request().dialect));
    std::string code = fmt::format("import shale\n\nds = shale.Dataset({}{})\n",
                                   python_path(set_.request().dataset), options);
    if (set_.samples() == 0) return code + "print(len(ds), ds.schema)\n";
    code += "sample = ds[0]\n";
    for (std::size_t i = 0, told = 0; i < uses_.size() && told < 6; ++i, ++told) {
      if (is_missing(i)) continue;
      code += fmt::format("{} = sample[{}]\n", i == value_ ? "value" : fmt::format("field_{}", i),
                          name_of_field(i));
    }
    if (const auto label = set_.label_field())
      code += fmt::format("labels = ds.column({})\n", name_of_field(*label));
    return with_os(code);
  }

  [[nodiscard]] std::string by_shell() const {
    const std::string path = shell_word(set_.request().dataset);
    std::string options;
    if (!set_.request().index_folder.empty())
      options = " --index-dir " + shell_word(set_.request().index_folder);
    const std::string info = fmt::format("shale info {}{}\n", path, options);
    // Only ls can be told how values are parsed: cat takes them as the index has them.
    if (set_.request().dialect)
      return info + fmt::format("shale ls {}{} --parse {} | head\n", path, options,
                                name_of(*set_.request().dialect));
    std::string code = info + fmt::format("shale ls {}{} | head\n", path, options);
    if (set_.samples() > 0)
      code += fmt::format("shale cat {}{} 0 --field {} > value\n", path, options,
                          shell_word(value_field().name));
    return code;
  }

  // Paths that are not UTF-8 need the module.
  [[nodiscard]] static std::string with_os(const std::string& code) {
    const bool needs_os = code.find("os.fsdecode(") != std::string::npos &&
                          code.find("import os") == std::string::npos;
    return needs_os ? "import os\n" + code : code;
  }

  [[nodiscard]] std::string by_index() const {
    const Field& field = value_field();
    const std::string list =
        is_of_one_file() ? set_.request().dataset : join_path(set_.request().dataset, shard_->name);
    const std::string index = list + std::string(kIndexSuffix);
    const bool has_index = set_.request().index_folder.empty() && stands(index);
    if (!is_located(field.kind) || is_missing(value_) || set_.samples() == 0 || !has_index)
      return {};
    const std::string name = python_repr(field.name);
    std::string code = fmt::format(
        "import os\nimport numpy as np\n\nrow, field = 0, {}\n"
        "index = np.load({}, mmap_mode=\"r\")\nfd = os.open({}, os.O_RDONLY)\n"
        "offset, length = int(index[row][field + \".offset\"]), int(index[row][field + "
        "\".length\"])\nvalue = os.pread(fd, length, offset)\n",
        name, python_path(index), python_path(file_of_field(value_)));
    if (const auto label = set_.label_field())
      code += fmt::format("label = int(index[row][{}])\n", name_of_field(*label));
    return code;
  }

  [[nodiscard]] std::string by_strides() const {
    const Field& field = value_field();
    const std::optional<std::uint64_t> bytes = fixed_bytes_of(field);
    const DType dtype = dtype_of_column(field);
    if (!bytes || shard_->bases.size() <= value_ || dtype.is_structured() || set_.samples() == 0)
      return {};
    std::string shape;
    for (const std::uint64_t side : field.shape) shape += fmt::format("{}, ", side);
    return fmt::format(
        "import os\nimport numpy as np\n\nrow, base, stride = 0, {}, {}\nfd = os.open({}, "
        "os.O_RDONLY)\nvalue = np.frombuffer(os.pread(fd, stride, base + row * stride), "
        "{}).reshape(({}))\n",
        shard_->bases[value_], *bytes, python_path(file_of_field(value_)),
        python_repr(dtype.descr()), shape);
  }

  [[nodiscard]] std::pair<const char*, std::string> own_reader() const {
    const std::string& format = manifest().format;
    if (format == "npy") return {"NumPy", by_numpy()};
    if (format == "hdf5") return {"h5py", by_h5py()};
    if (format == "lmdb") return {"lmdb", by_lmdb()};
    if (format == "record") return {"tfrecord", by_tfrecord()};
    if (format == "pt") return {"PyTorch", by_torch()};
    if (format == "safetensors") return {"safetensors", by_safetensors()};
    return {"", ""};
  }

  [[nodiscard]] std::string by_numpy() const {
    return with_os(fmt::format("import numpy as np\n\nvalues = np.load({}, mmap_mode=\"r\")\n{}",
                               python_path(file_of_field(value_)), if_any("value = values[0]\n")));
  }

  [[nodiscard]] std::string by_torch() const {
    const std::string load = fmt::format("values = torch.load({}, mmap=True, weights_only=True)\n",
                                         python_path(file_of_field(value_)));
    // A file of another tool holds a tensor, or a dict of them.
    const std::string choose =
        is_of_one_file() ? fmt::format("if isinstance(values, dict):\n    values = values[{}]\n",
                                       name_of_field(value_))
                         : std::string();
    return with_os("import torch\n\n" + load + choose + if_any("value = values[0]\n"));
  }

  [[nodiscard]] std::string by_safetensors() const {
    // NumPy has no bfloat16 and no float8: shale has them as structures.
    const bool is_of_numpy = !dtype_of_column(value_field()).is_structured();
    return with_os(
        fmt::format("from safetensors import safe_open\n\nwith safe_open({}, framework=\"{}\") "
                    "as file:\n    values = file.get_slice({})\n{}",
                    python_path(file_of_field(value_)), is_of_numpy ? "numpy" : "pt",
                    name_of_field(value_), if_any("    value = values[0]\n")));
  }

  [[nodiscard]] std::string by_h5py() const {
    const std::string open =
        fmt::format("import h5py\n\nf = h5py.File({})\n", python_path(file_of_field(value_)));
    const std::string& name = value_field().name;
    const auto quoted = [](const std::string& text) { return python_repr(text); };
    const bool is_stored_as_bytes =
        is_own() && manifest().layout.rows.has_index() &&
        (value_field().kind == Kind::bytes || value_field().kind == Kind::text);
    std::string code = open;
    if (set_.samples() == 0) return with_os(code + "f.visititems(print)\n");
    if (is_stored_as_bytes) {
      code +=
          fmt::format("begin, end = f[{}][0:2]  # sample 0\nvalue = f[{}][begin:end].tobytes()\n",
                      quoted(name + "_offset"), quoted(name));
    } else if (manifest().layout.rows.has_strides()) {
      code += fmt::format("value = f[{}][0]\n", quoted(name));
    } else {
      code += "f.visititems(print)\n";
    }
    const auto label = set_.label_field();
    if (label && is_own()) code += fmt::format("label = int(f[{}][0])\n", name_of_field(*label));
    return with_os(code);
  }

  [[nodiscard]] std::string by_lmdb() const {
    const std::string open =
        fmt::format("env = lmdb.open({}, subdir={}, readonly=True, lock=False, readahead=False)\n",
                    python_path(file_path(0)), is_of_one_file() && is_folder() ? "True" : "False");
    if (set_.samples() == 0) return with_os("import lmdb\n\n" + open + "print(env.stat())\n");
    if (!is_own()) {
      return with_os("import lmdb\n\n" + open +
                     "with env.begin(buffers=True) as txn:\n    key, value = "
                     "next(iter(txn.cursor()))\n");
    }
    return with_os(
        fmt::format("import lmdb, msgpack\n\n{}with env.begin(buffers=True) as txn:\n"
                    "    sample = msgpack.unpackb(txn.get(b\"00000000\"))\n"
                    "value = sample[{}]\n",
                    open, name_of_field(value_)));
  }

  [[nodiscard]] std::string by_tfrecord() const {
    // Features may be missing from some records: so they are not named beforehand.
    if (is_of_examples()) {
      return with_os(
          fmt::format("from tfrecord.reader import tfrecord_loader\n\n"
                      "for sample in tfrecord_loader({}, None):\n    break\n",
                      python_path(file_path(0))));
    }
    return with_os(
        fmt::format("from tfrecord.reader import tfrecord_iterator\n\n"
                    "for value in tfrecord_iterator({}):\n    break\n",
                    python_path(file_path(0))));
  }

  // Of records of another kind, shale makes one field of bytes, "value".
  [[nodiscard]] bool is_of_examples() const {
    return is_own() || manifest().layout.has_whole_records;
  }

  [[nodiscard]] bool is_folder() const { return is_real_folder(set_.request().dataset); }

  ReportedSet& set_;
  const std::vector<FieldUse>& uses_;
  std::optional<ManifestShard> shard_;
  std::vector<IndexCell> first_;  // of the first sample; empty: there is none
  std::size_t value_ = 0;
};

}  // namespace

std::string python_path(std::string_view path) {
  if (is_utf8(path)) return python_repr(path);
  std::string text = "os.fsdecode(b'";
  for (const char byte : path) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\';
    if (is_plain)
      text += byte;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text + "')";
}

std::string shell_word(std::string_view path) {
  const auto is_plain = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           std::string_view("/._-+=:,@").find(byte) != std::string_view::npos;
  };
  if (!path.empty() && std::ranges::all_of(path, is_plain) && path[0] != '-')
    return std::string(path);
  const bool is_text = is_utf8(path) && printable(path).size() == path.size();
  std::string text = is_text ? "'" : "$'";
  for (const char byte : path) {
    if (is_text)
      text += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
    else if (byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\')
      text += byte;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text + "'";
}

Json make_snippets(ReportedSet& set, const std::vector<FieldUse>& uses) {
  return SnippetMaker(set, uses).make();
}

}  // namespace shale
