#include "shale/image/heif.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "shale/image/header_view.hpp"

namespace shale {
namespace {

// As libheif/heif.h has them (libheif 1.x: its interface in C does not change).
struct HeifError {
  int code, subcode;
  const char* message;
};
using Item = std::uint32_t;
constexpr int kRgbColors = 1;  // heif_colorspace_RGB
constexpr int kInterleavedRgb = 10, kInterleavedRgba = 11;
constexpr int kInterleavedDeepRgb = 14, kInterleavedDeepRgba = 15;  // little-endian
constexpr int kInterleavedChannel = 10;

// The beginning of heif_decoding_options, as far as version 3 has it.
struct DecodingOptions {
  std::uint8_t version, ignores_transformations;
  void* progress[3];
  void* progress_data;
  std::uint8_t makes_8_bits, is_strict;
};

// What is called of it. Null members: it is not there.
struct Library {
  void* (*context_alloc)();
  void (*context_free)(void*);
  HeifError (*context_read)(void*, const void*, std::size_t, const void*);
  void (*context_set_threads)(void*, int);
  int (*context_count)(void*);
  HeifError (*primary_handle)(void*, void**);
  void (*handle_release)(const void*);
  int (*handle_width)(const void*);
  int (*handle_height)(const void*);
  int (*handle_has_alpha)(const void*);
  int (*handle_luma_bits)(const void*);
  std::size_t (*profile_size)(const void*);
  HeifError (*profile)(const void*, void*);
  int (*metadata_ids)(const void*, const char*, Item*, int);
  std::size_t (*metadata_size)(const void*, Item);
  HeifError (*metadata)(const void*, Item, void*);
  DecodingOptions* (*options_alloc)();
  void (*options_free)(DecodingOptions*);
  HeifError (*decode)(const void*, void**, int, int, const void*);
  void (*image_release)(const void*);
  int (*image_width)(const void*, int);
  int (*image_height)(const void*, int);
  const std::uint8_t* (*image_plane)(const void*, int, int*);
};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Library load() {
  Library all{};
  void* const file = ::dlopen("libheif.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool is_whole =
      file != nullptr && find(file, "heif_context_alloc", all.context_alloc) &&
      find(file, "heif_context_free", all.context_free) &&
      find(file, "heif_context_read_from_memory_without_copy", all.context_read) &&
      find(file, "heif_context_set_max_decoding_threads", all.context_set_threads) &&
      find(file, "heif_context_get_number_of_top_level_images", all.context_count) &&
      find(file, "heif_context_get_primary_image_handle", all.primary_handle) &&
      find(file, "heif_image_handle_release", all.handle_release) &&
      find(file, "heif_image_handle_get_width", all.handle_width) &&
      find(file, "heif_image_handle_get_height", all.handle_height) &&
      find(file, "heif_image_handle_has_alpha_channel", all.handle_has_alpha) &&
      find(file, "heif_image_handle_get_luma_bits_per_pixel", all.handle_luma_bits) &&
      find(file, "heif_image_handle_get_raw_color_profile_size", all.profile_size) &&
      find(file, "heif_image_handle_get_raw_color_profile", all.profile) &&
      find(file, "heif_image_handle_get_list_of_metadata_block_IDs", all.metadata_ids) &&
      find(file, "heif_image_handle_get_metadata_size", all.metadata_size) &&
      find(file, "heif_image_handle_get_metadata", all.metadata) &&
      find(file, "heif_decoding_options_alloc", all.options_alloc) &&
      find(file, "heif_decoding_options_free", all.options_free) &&
      find(file, "heif_decode_image", all.decode) &&
      find(file, "heif_image_release", all.image_release) &&
      find(file, "heif_image_get_width", all.image_width) &&
      find(file, "heif_image_get_height", all.image_height) &&
      find(file, "heif_image_get_plane_readonly", all.image_plane);
  return is_whole ? all : Library{};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

std::string message_of(const HeifError& error) {
  return error.message == nullptr || *error.message == '\0' ? fmt::format("error {}", error.code)
                                                            : std::string(error.message);
}

}  // namespace

struct HeifImage::Parts {
  Parts() : context(library().context_alloc()) {}
  ~Parts() {
    if (handle != nullptr) library().handle_release(handle);
    library().context_free(context);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  void* context;
  void* handle = nullptr;
};

bool has_libheif() { return library().image_plane != nullptr; }

HeifImage::HeifImage(Bytes bytes) {
  if (!has_libheif()) {
    objection_ = "libheif is not installed";
    return;
  }
  const Library& heif = library();
  parts_ = std::make_unique<Parts>();
  if (parts_->context == nullptr) throw std::bad_alloc();
  heif.context_set_threads(parts_->context, 0);  // images are decoded side by side
  HeifError error = heif.context_read(parts_->context, bytes.data(), bytes.size(), nullptr);
  if (error.code == 0) error = heif.primary_handle(parts_->context, &parts_->handle);
  if (error.code != 0) {
    objection_ = message_of(error);
    return;
  }
  width = static_cast<std::uint32_t>(std::max(heif.handle_width(parts_->handle), 0));
  height = static_cast<std::uint32_t>(std::max(heif.handle_height(parts_->handle), 0));
  bits = static_cast<unsigned>(std::clamp(heif.handle_luma_bits(parts_->handle), 8, 16));
  has_alpha = heif.handle_has_alpha(parts_->handle) != 0;
  has_more_images = heif.context_count(parts_->context) > 1;
}

HeifImage::~HeifImage() = default;

std::vector<std::byte> HeifImage::icc(std::uint64_t most_bytes) const {
  if (!objection_.empty()) return {};
  const std::size_t size = library().profile_size(parts_->handle);
  if (size > most_bytes) return {};
  std::vector<std::byte> profile(size);
  if (size > 0 && library().profile(parts_->handle, profile.data()).code != 0) return {};
  return profile;
}

std::vector<std::byte> HeifImage::exif(std::uint64_t most_bytes) const {
  if (!objection_.empty()) return {};
  const Library& heif = library();
  Item block = 0;
  if (heif.metadata_ids(parts_->handle, "Exif", &block, 1) != 1) return {};
  // Four bytes say where the TIFF structure begins, behind them.
  constexpr std::size_t kOffset = 4;
  const std::size_t size = heif.metadata_size(parts_->handle, block);
  if (size <= kOffset || size > most_bytes) return {};
  std::vector<std::byte> stored(size);
  if (heif.metadata(parts_->handle, block, stored.data()).code != 0) return {};
  const std::uint64_t begin = HeaderView(stored, std::endian::big).u32(0);
  if (begin >= size - kOffset) return {};
  return {stored.begin() + static_cast<std::ptrdiff_t>(kOffset + begin), stored.end()};
}

std::string HeifImage::decode_into(std::span<std::uint8_t> samples) const {
  if (!objection_.empty()) return objection_;
  const Library& heif = library();
  const bool is_deep = bits > 8;
  const int chroma = has_alpha ? (is_deep ? kInterleavedDeepRgba : kInterleavedRgba)
                               : (is_deep ? kInterleavedDeepRgb : kInterleavedRgb);
  const std::unique_ptr<DecodingOptions, void (*)(DecodingOptions*)> options(heif.options_alloc(),
                                                                             heif.options_free);
  if (options && options->version >= 3) options->is_strict = 1;
  void* decoded = nullptr;
  const HeifError error = heif.decode(parts_->handle, &decoded, kRgbColors, chroma, options.get());
  if (error.code != 0) return message_of(error);
  const std::unique_ptr<void, void (*)(void*)> image(
      decoded, [](void* one) { library().image_release(one); });
  int stride = 0;
  const std::uint8_t* const plane = heif.image_plane(image.get(), kInterleavedChannel, &stride);
  const std::size_t row = std::size_t{width} * (has_alpha ? 4 : 3) * (is_deep ? 2 : 1);
  const bool fits = plane != nullptr && stride >= 0 && static_cast<std::size_t>(stride) >= row &&
                    samples.size() == row * height &&
                    heif.image_width(image.get(), kInterleavedChannel) == static_cast<int>(width) &&
                    heif.image_height(image.get(), kInterleavedChannel) == static_cast<int>(height);
  if (!fits) return "its pixels differ from its header in their size";
  for (std::size_t y = 0; y < height; ++y) {
    std::copy_n(plane + y * static_cast<std::size_t>(stride), row, samples.data() + y * row);
  }
  return {};
}

}  // namespace shale
