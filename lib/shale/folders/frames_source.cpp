#include "shale/folders/frames_source.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/input_list.hpp"
#include "shale/manifest/stored_listing.hpp"

// The files come from the source of the folder, those of one video one after the other.

namespace shale {
namespace {

constexpr std::uint64_t kBytesPerFrame = 256;  // of a list of files in memory

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_earlier_name(std::string_view a, std::string_view b, FrameOrder order) {
  return order == FrameOrder::natural ? is_naturally_less(a, b) : a < b;
}

FolderRequest with_tree(FolderRequest request) {
  if (!request.tree) request.tree = open_folder_tree(request.root);
  return request;
}

FolderRequest files_of(FolderRequest request) {
  if (request.labels.is_given()) {
    throw Error(Code::usage,
                "--labels and --group exclude each other: labels of videos are the "
                "folders of their classes")
        .at(request.root)
        .hint("leave out one of the two");
  }
  request.files.pairs = {};
  request.memory_bytes /= 2;
  return request;
}

class FramesList final : public InputList {
 public:
  explicit FramesList(const FolderRequest& request)
      : request_(with_tree(request)),
        files_(open_folder(files_of(request_))),
        videos_(std::in_place, request.scratch_folder, request.memory_bytes / 4) {
    const bool was_walked = request.files.listing.stored.empty();
    info_ = files_->info();
    info_.manifest = ManifestSource();
    info_.manifest.kind = kVideoFrames;
    info_.schema.fields = {{.name = "frames", .kind = Kind::list},
                           {.name = "label", .kind = Kind::integer}};
    info_.largest.reset();
    list_videos();
    if (was_walked) look_for_empty_videos();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] ListedSample next() override { return videos_->next(); }
  void rewind() override { videos_->rewind(); }
  void close() override { videos_.reset(); }

  [[nodiscard]] PendingSample pending(ListedSample video) const override {
    PendingSample sample;
    std::uint64_t length = 0;
    sample.key = folder_of(video.front().path);
    sample.cells.resize(2);
    sample.cells[1].integer = video.front().label;
    sample.files.reserve(video.size());
    for (const ListedFile& frame : video) {
      const ArchivedFile archived = request_.tree->place_of(frame.offset);
      length += frame.bytes;
      sample.bytes += frame.bytes + archived.packed_bytes;
      if (sample.damage.empty()) sample.damage = request_.tree->damage_of(frame.offset);
      sample.files.push_back({.path = join_path(request_.root, frame.path),
                              .bytes = frame.bytes,
                              .modified_ns = frame.modified_ns,
                              .archived = archived});
    }
    sample.cells[0].place = {.offset = 0,
                             .length = length,
                             .crc32c = 0,
                             .count = static_cast<std::uint32_t>(sample.files.size())};
    return sample;
  }

  void list_ignored(const ReasonSink& sink) override { files_->list_ignored(sink); }

 private:
  void list_videos() {
    ListedSample video;
    std::string key;
    std::uint64_t position = 0;
    const auto end_video = [&] {
      if (video.empty()) return;
      sort(video, FrameOrder::natural);
      note_gap(key, video);
      if (request_.files.frame_order != FrameOrder::natural)
        sort(video, request_.files.frame_order);
      videos_->add(position++, video);
      video.clear();
    };
    const std::uint64_t most_frames = request_.all_memory_bytes / 4 / kBytesPerFrame;
    while (std::optional<PendingSample> file = files_->next(1)) {
      request_.stop_if_asked();
      const std::string_view folder = folder_of(file->key);
      if (request_.needs_labels && folder.find('/') == std::string_view::npos)
        throw beside_videos(file->files.front().path);
      if (folder != key) {
        end_video();
        key = folder;
      }
      video.push_back({.path = std::move(file->key),
                       .bytes = file->bytes,
                       .modified_ns = file->files.front().modified_ns,
                       .label = file->cells[1].integer,
                       .offset = file->cells[0].place.offset});
      if (video.size() <= most_frames) continue;
      throw Error(Code::limit, "video has more than {} frames, which --memory has room for",
                  most_frames)
          .at(join_path(request_.root, key))
          .hint("raise --memory, or divide the video");
    }
    end_video();
    videos_->finish();
    if (gaps_ > 0) {
      info_.notes.push_back(
          fmt::format("{} in the numbering of frames; the first: {}",
                      format_counted(gaps_, "video has a gap", "videos have a gap"), first_gap_));
    }
  }

  static void sort(ListedSample& video, FrameOrder order) {
    std::sort(video.begin(), video.end(), [order](const ListedFile& a, const ListedFile& b) {
      return is_earlier_name(name_in(a.path), name_in(b.path), order);
    });
  }

  static Error beside_videos(const std::string& path) {
    return Error(Code::bad_content, "is an image beside the folders of videos")
        .at(path)
        .hint(
            "with --group frames each video has a folder of its own, ROOT/<class>/<video>/: move "
            "the image, or leave out the option");
  }

  void note_gap(const std::string& key, const ListedSample& video) {
    for (std::size_t i = 1; i < video.size(); ++i) {
      const std::string_view before = name_in(video[i - 1].path), name = name_in(video[i].path);
      const std::optional<std::uint64_t> number = number_in_name(before);
      if (!number || number_in_name(name) == *number + 1) continue;
      if (gaps_++ == 0)
        first_gap_ =
            fmt::format("{}: {} follows {}", printable(key), printable(name), printable(before));
      return;
    }
  }

  // The source of the files does not see folders without any.
  void look_for_empty_videos() {
    rewind();
    std::string class_name, first;
    std::uint64_t count = 0;
    std::set<std::string, std::less<>> empty;  // folders of the class that no video came from yet
    const auto end_class = [&] {
      if (empty.empty()) return;
      if (!request_.files.allow_empty) throw empty_video(class_name, *empty.begin());
      if (count == 0) first = join_path(class_name, *empty.begin());
      count += empty.size();
    };
    for (ListedSample video = next(); !video.empty(); video = next()) {
      request_.stop_if_asked();
      const std::string_view key = folder_of(video.front().path);
      const std::size_t slash = key.find('/');
      if (key.substr(0, slash) != class_name) {
        end_class();
        class_name = key.substr(0, slash);
        empty = folders_of(class_name);
      }
      const std::string_view rest = key.substr(slash + 1);
      const auto found = empty.find(rest.substr(0, rest.find('/')));
      if (found != empty.end()) empty.erase(found);
    }
    end_class();
    if (count == 0) return;
    info_.notes.push_back(fmt::format(
        "left out {}; the first: {}",
        format_counted(count, "video without frames", "videos without frames"), printable(first)));
  }

  [[nodiscard]] std::set<std::string, std::less<>> folders_of(const std::string& class_name) const {
    const auto keeps = [this](const FolderEntry& entry) {
      const bool is_hidden = is_hidden_name(entry.name);
      return entry.is_directory && (!is_hidden || request_.files.hidden == HiddenPolicy::keep);
    };
    std::set<std::string, std::less<>> names;
    for (FolderEntry& entry : request_.tree->list(class_name, keeps))
      names.insert(std::move(entry.name));
    return names;
  }

  [[nodiscard]] Error empty_video(const std::string& class_name, const std::string& name) const {
    return Error(Code::bad_content, "video has no frames")
        .at(join_path(request_.root, join_path(class_name, name)))
        .hint("remove the folder, or pass --allow-empty to leave the video out");
  }

  FolderRequest request_;
  std::unique_ptr<Source> files_;
  SourceInfo info_;
  std::optional<PlacedSamples> videos_;  // until close()
  std::string first_gap_;
  std::uint64_t gaps_ = 0;
};

}  // namespace

std::unique_ptr<OrderableSource> open_frames(const FolderRequest& request) {
  return make_list_source(std::make_unique<FramesList>(request),
                          {.name = request.root,
                           .scratch_folder = request.scratch_folder,
                           .memory_bytes = request.memory_bytes / 4,
                           .stop_if_asked = request.stop_if_asked});
}

}  // namespace shale
