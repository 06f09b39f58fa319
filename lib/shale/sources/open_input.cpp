#include "shale/sources/open_input.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "shale/archives/archive_set.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_name.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/chosen_fields.hpp"
#include "shale/sources/drawn_source.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/sources/source_over.hpp"
#include "shale/sources/transformed_source.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

Error not_read_yet(const std::string& input, std::string_view kind) {
  const std::string hint = hint_for_numbers(input);
  return Error(Code::unsupported, "{} is not supported yet as input", kind)
      .at(input)
      .hint(!hint.empty()
                ? hint
                : "this version reads image folders, flat folders with --labels, .tar and .zip "
                  "archives of both, arrays (.npy, .npz, .pt, .safetensors, idx, pickled ones), "
                  "shale datasets, and LMDB, HDF5, TFRecord, Parquet and WebDataset files");
}

constexpr std::string_view kSingleFile = "a single file", kCompressedFile = "a compressed file";

std::string_view kind_of_file(const std::string& path) {
  const std::string suffix = fs::path(path).extension().string();
  if (suffix == ".gz" || suffix == ".tgz" || suffix == ".zst" || suffix == ".xz" ||
      suffix == ".bz2")
    return kCompressedFile;
  return kSingleFile;
}

Error unknown_file(const std::string& input) {
  if (std::optional<Error> error = known_but_not_read(input)) return *std::move(error);
  const std::string suffix = fs::path(input).extension().string();
  const std::string_view kind = kind_of_file(input);
  if (suffix == ".tar") return no_archive(input);
  if (kind == kSingleFile && InputFile(input).size() == 0) return empty_file(input);
  if (kind == kCompressedFile) {
    return Error(Code::unsupported,
                 "is not a tar archive that is compressed with gzip or zstd, and other compressed "
                 "files are not supported as input")
        .at(input)
        .hint(
            "decompress it on the way: 'xz -dc x.tar.xz | shale convert - OUTPUT ...'; or "
            "decompress "
            "it first");
  }
  if (suffix == ".zip")
    return Error(Code::unsupported, "does not begin like a zip archive")
        .at(input)
        .hint(
            fmt::format("if it is the last part of several, or has a program in front, unpack it, "
                        "and convert the folder: 7z x '{}' -oFOLDER",
                        printable(input)));
  const bool is_of_numpy = suffix == ".npy" || suffix == ".npz";
  if (is_of_numpy || suffix == ".pt" || suffix == ".safetensors") {
    return Error(Code::unsupported, "does not start like {} file",
                 (is_of_numpy ? "an " : "a ") + suffix)
        .at(input)
        .hint(fmt::format("save it again{}, or restore it from an intact copy",
                          is_of_numpy ? " with NumPy" : ""));
  }
  if (suffix == ".txt" || suffix == ".lst") {
    return Error(Code::unsupported, "is not a file that shale reads as input")
        .at(input)
        .hint(
            fmt::format("if it lists files, run 'shale convert - OUT ... < {}'", printable(input)));
  }
  return not_read_yet(input, kind);
}

bool is_of_other_tool(const std::string& input) {
  return look_at(input) == Place::other_file && detect_file(InputFile(input)) != nullptr;
}

// What no kind takes for its own.
Error not_an_input(const InputRequest& request) {
  const std::string& input = request.inputs.front();
  if (request.inputs.size() != 1) {
    for (const std::string& one : request.inputs) {
      if (one.find('=') != std::string::npos) continue;
      if (look_at(one) == Place::absent) return absent(one);
      if (kind_of_file(one) == kCompressedFile)
        return Error(Code::unsupported,
                     "is compressed as a whole, and cannot be one of several inputs")
            .at(one)
            .hint("decompress it to a file, and name that");
    }
    return Error(Code::usage, "{} inputs, none of which is an array", request.inputs.size())
        .at(input)
        .hint(is_of_other_tool(input)
                  ? "convert them one by one, the second and later ones with --append"
                  : "pass several inputs as .npy files, or as folders whose files belong together, "
                    "each with a name: image=photos mask=masks");
  }
  switch (look_at(input)) {
    case Place::absent:
      return absent(input);
    case Place::unfinished:
      return unfinished(input);
    default:
      return unknown_file(input);
  }
}

OpenedInput open_as_it_is(const InputRequest& request, const std::string& scratch_folder,
                          const Events& events) {
  SoughtInput input{.request = request, .scratch_folder = scratch_folder, .events = events};
  input.open_one = [&](const InputRequest& one) {
    return open_as_it_is(one, scratch_folder, events);
  };
  const InputKind* kind = nullptr;
  Recognition surest;
  for (const InputKind& one : input_kinds()) {
    Recognition found = one.recognize(input);
    if (found.certainty <= surest.certainty) continue;
    surest = std::move(found);
    kind = &one;
    if (surest.certainty == Certainty::certain) break;
  }
  if (kind == nullptr) throw not_an_input(request);
  if (request.order.draw && !kind->may_be_rows)
    throw request.inputs.size() == 1 ? rows_differ(request.inputs.front()) : not_an_input(request);
  // An option that means nothing for the input is refused, not ignored.
  std::uint32_t bit = 1;
  for (const InputOption& option : input_options()) {
    if ((kind->takes & bit) == 0 && option.is_given(request))
      throw not_for(*kind, request, option.name);
    bit <<= 1U;
  }
  return surest.open(input);
}

// Rows of one size are drawn. A choice of rows is a file, which the draw keeps open; a shuffle is a
// draw of all.
std::unique_ptr<Source> draw_rows(RowTable table, const InputRequest& request, ChosenRows* chosen,
                                  const std::string& scratch_folder, const Events& events) {
  const OrderRequest& order = request.order;
  const DrawLimits limits{.jobs = request.jobs,
                          .memory_bytes = array_memory(request.memory_bytes),
                          .scratch_folder = scratch_folder};
  if (order.draw) return make_drawn_source(std::move(table), *order.draw, limits, events);
  if (chosen == nullptr) {
    return make_drawn_source(
        std::move(table),
        {.mode = DrawMode::permute, .rows = std::nullopt, .seed = order.seed, .file = {}}, limits,
        events);
  }
  table.info.chosen = chosen->hash();
  table.info.manifest.fingerprint = chosen->fingerprint_of(table.info.manifest.fingerprint);
  const NamelessFile rows(scratch_folder);
  chosen->write_array(rows, order.is_shuffled ? std::optional(order.seed) : std::nullopt, events);
  return make_drawn_source(
      std::move(table),
      {.mode = DrawMode::indices, .rows = std::nullopt, .seed = 0, .file = rows.link()}, limits,
      events);
}

// A name of a group or of a compound type in a file of named arrays stands for the fields in it.
InputRequest with_fields_of_groups(const InputRequest& request) try {
  const std::vector<std::string>& wanted = request.fields.only;
  if (wanted.empty() || request.inputs.size() != 1) return request;
  const std::optional<std::string> path = file_of_path(request.inputs.front());
  if (!path) return request;
  const InputFile file(*path);
  const Format* const format = detect_file(file);
  if (format == nullptr || format->list_contents == nullptr) return request;
  const FileContents contents = format->list_contents(file, {});
  InputRequest all = request;
  all.fields.only.clear();
  for (const std::string& name : wanted) {
    const std::size_t had = all.fields.only.size();
    const bool is_field = std::ranges::any_of(contents.arrays, [&](const ListedArray& one) {
      return one.path == name || field_name_of(one.path) == name;
    });
    for (const ListedArray& array : contents.arrays) {
      const bool is_in_it =
          array.path.starts_with(name + ".") || array.path.starts_with(name + "/");
      if (!is_field && is_in_it && array.is_column())
        all.fields.only.push_back(field_name_of(array.path));
    }
    if (all.fields.only.size() == had) all.fields.only.push_back(name);
  }
  return all;
} catch (const Error& error) {
  // It is said, or left out, where the file is read.
  if (error.code() != Code::damaged) throw;
  return request;
}

}  // namespace

RowTable open_row_table(const InputRequest& request, const std::string& scratch_folder,
                        const Events& events) {
  OpenedInput opened = open_as_it_is(request, scratch_folder, events);
  if (!opened.rows) throw rows_differ(request.inputs.front());
  return std::move(*opened.rows);
}

std::unique_ptr<Source> open_input(const InputRequest& asked, const std::string& scratch_folder,
                                   const Events& events) {
  const InputRequest request = with_fields_of_groups(asked);
  OpenedInput opened = open_as_it_is(request, scratch_folder, events);
  const OrderRequest& order = request.order;
  std::shared_ptr<ChosenRows> chosen;
  if (!order.choice.is_all()) {
    chosen = std::make_shared<ChosenRows>(
        order.choice_in_order(), opened.rows ? opened.rows->info : opened.source->info(),
        opened.source.get(), scratch_folder, list_memory(request.memory_bytes), events);
  }
  std::unique_ptr<Source> source = std::move(opened.source);
  if (opened.rows) {
    source =
        draw_rows(std::move(*opened.rows), request, chosen.get(),
                  request.scratch_folder.empty() ? scratch_folder : request.scratch_folder, events);
  } else if (chosen || order.is_shuffled) {
    if (opened.orderable == nullptr)
      throw Error(Code::bug, "its kind takes an order, but it is read once").at(request.inputs[0]);
    opened.orderable->put_in_order(
        {.chosen = chosen, .seed = order.is_shuffled ? std::optional(order.seed) : std::nullopt});
  }
  FieldChoice fields = request.fields;
  if (opened.has_chosen_fields) fields.only = fields.dropped = {};
  source = make_chosen_fields(std::move(source), fields, request.inputs.front());
  if (order.part) source = make_part_source(std::move(source), *order.part);
  if (request.images.is_empty()) return source;
  return make_transformed_source(std::move(source), request.images, request.inputs.front());
}

}  // namespace shale
