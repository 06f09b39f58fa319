#include "shale/folders/frames_source.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/source_totals.hpp"
#include "shale/folders/stored_listing.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/labels/natural_order.hpp"

// The files come from the source of the folder, those of one video one after the other. The list of
// frames is an external sort: u64 position of the video (big-endian), u32 number of the frame
// (big-endian), then the file as in a listing.

namespace shale {
namespace {

constexpr std::uint64_t kBytesPerFrame = 256;  // of a list of files in memory
constexpr std::size_t kPlaceBytes = 12;        // position and number

// The frames of one video, in order.
struct Video {
  std::string key;
  std::vector<ListedFile> frames;
};

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
  if (!request.labels.path.empty()) {
    throw Error(Code::usage,
                "--labels and --group exclude each other: labels of videos are the "
                "folders of their classes")
        .at(request.root)
        .hint("leave out one of the two");
  }
  request.files.pairs = {};
  request.is_shuffled = false;
  request.chosen = nullptr;
  request.memory_bytes /= 2;
  return request;
}

class FramesSource final : public Source {
 public:
  explicit FramesSource(const FolderRequest& request)
      : request_(with_tree(request)),
        files_(open_folder(files_of(request_))),
        frames_(request.scratch_folder, request.memory_bytes / 4) {
    const bool was_walked = request.files.listing.stored.empty();
    info_ = files_->info();
    info_.manifest = ManifestSource();
    info_.manifest.kind = kVideoFrames;
    info_.schema.fields = {{.name = "frames", .kind = Kind::list},
                           {.name = "label", .kind = Kind::integer}};
    info_.largest.reset();
    list_videos();
    if (was_walked) look_for_empty_videos();
    if (request_.chosen) choose(*request_.chosen);
    sum_up();
    if (request_.is_shuffled) shuffle();
    rewind();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t) override {
    std::optional<Video> video = next_video();
    if (!video) return std::nullopt;
    return pending_of(std::move(*video));
  }

  void skip(std::uint64_t samples) override {
    for (; samples > 0; --samples) {
      request_.stop_if_asked();
      if (!next_video()) return Source::skip(samples);
    }
  }

  void list_ignored(const ReasonSink& sink) override { files_->list_ignored(sink); }

 private:
  void list_videos() {
    Video video;
    std::uint64_t position = 0;
    const auto close = [&] {
      if (video.frames.empty()) return;
      sort(video, FrameOrder::natural);
      note_gap(video);
      if (request_.files.frame_order != FrameOrder::natural)
        sort(video, request_.files.frame_order);
      add(frames_, position++, video);
      video.frames.clear();
    };
    while (std::optional<PendingSample> file = files_->next(1)) {
      request_.stop_if_asked();
      const std::string_view folder = folder_of(file->key);
      if (folder.find('/') == std::string_view::npos) throw beside_videos(file->files.front().path);
      if (folder != video.key) {
        close();
        video.key = folder;
      }
      video.frames.push_back({.path = std::move(file->key),
                              .bytes = file->bytes,
                              .modified_ns = file->files.front().modified_ns,
                              .label = file->cells[1].integer,
                              .offset = file->files.front().offset});
      refuse_too_many(video);
    }
    close();
    frames_.finish();
    if (gaps_ > 0) {
      info_.notes.push_back(
          fmt::format("{} in the numbering of frames; the first: {}",
                      format_counted(gaps_, "video has a gap", "videos have a gap"), first_gap_));
    }
  }

  static void sort(Video& video, FrameOrder order) {
    std::sort(video.frames.begin(), video.frames.end(),
              [order](const ListedFile& a, const ListedFile& b) {
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

  void refuse_too_many(const Video& video) const {
    const std::uint64_t most = request_.all_memory_bytes / 4 / kBytesPerFrame;
    if (video.frames.size() <= most) return;
    throw Error(Code::limit, "video has more than {} frames, which --memory has room for", most)
        .at(join_path(request_.root, video.key))
        .hint("raise --memory, or divide the video");
  }

  void note_gap(const Video& video) {
    for (std::size_t i = 1; i < video.frames.size(); ++i) {
      const std::string_view before = name_in(video.frames[i - 1].path),
                             name = name_in(video.frames[i].path);
      const std::optional<std::uint64_t> number = number_in_name(before);
      if (!number || number_in_name(name) == *number + 1) continue;
      if (gaps_++ == 0)
        first_gap_ = fmt::format("{}: {} follows {}", printable(video.key), printable(name),
                                 printable(before));
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
    while (const std::optional<Video> video = next_video()) {
      request_.stop_if_asked();
      const std::string_view key = video->key;
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
      const bool is_hidden = entry.name.starts_with('.');
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

  void add(ExternalSorter& to, std::uint64_t position, const Video& video) {
    for (std::uint32_t number = 0; number < video.frames.size(); ++number) {
      entry_.clear();
      append_big_endian(entry_, position);
      append_big_endian(entry_, number);
      append_listed_file(entry_, video.frames[number]);
      to.add(entry_);
    }
  }

  std::optional<Video> next_video() {
    Video video;
    std::string position;
    if (held_) {
      position = held_->first;
      video.frames.push_back(std::move(held_->second));
      held_.reset();
    }
    while (const std::optional<std::string_view> entry = frames_.next()) {
      const std::string_view place = entry->substr(0, sizeof(std::uint64_t));
      ListedFile frame = parse_listed_file(entry->substr(kPlaceBytes));
      if (!video.frames.empty() && place != position) {
        held_.emplace(place, std::move(frame));
        break;
      }
      position = place;
      video.frames.push_back(std::move(frame));
    }
    if (video.frames.empty()) return std::nullopt;
    video.key = folder_of(video.frames.front().path);
    return video;
  }

  void rewind() {
    frames_.rewind();
    held_.reset();
  }

  [[nodiscard]] PendingSample pending_of(Video video) const {
    PendingSample sample;
    sample.key = std::move(video.key);
    sample.archive = request_.tree->archive();
    sample.cells.resize(2);
    sample.cells[1].integer = video.frames.front().label;
    sample.files.reserve(video.frames.size());
    for (const ListedFile& frame : video.frames) {
      sample.bytes += frame.bytes;
      sample.files.push_back({.path = join_path(request_.root, frame.path),
                              .bytes = frame.bytes,
                              .modified_ns = frame.modified_ns,
                              .offset = frame.offset});
    }
    sample.cells[0].place = {.offset = 0,
                             .length = sample.bytes,
                             .crc32c = 0,
                             .count = static_cast<std::uint32_t>(sample.files.size())};
    return sample;
  }

  // Before any shuffle.
  void sum_up() {
    rewind();
    SourceTotals totals(info_.manifest.kind);
    while (std::optional<Video> video = next_video()) {
      request_.stop_if_asked();
      for (const ListedFile& frame : video->frames) totals.add_file(frame.path, frame.bytes);
      if (totals.end_sample(video->frames.front().label))
        info_.largest = pending_of(std::move(*video));
    }
    totals.give_totals(info_);
    totals.give_labels(info_, request_.is_shuffled);
  }

  void choose(ChosenRows& chosen) {
    ExternalSorter taken(request_.scratch_folder, request_.memory_bytes / 4);
    std::uint64_t count = 0;
    rewind();
    for (std::uint64_t row = 0; const std::optional<Video> video = next_video(); ++row) {
      request_.stop_if_asked();
      if (count < chosen.count() && chosen.at(count) == row) add(taken, count++, *video);
    }
    if (count != chosen.count()) {
      throw fewer_than_listed(request_.root);
    }
    info_.chosen = chosen.hash();
    place(std::move(taken));
  }

  void shuffle() {
    const Permutation order(info_.manifest.samples, request_.seed);
    ExternalSorter shuffled(request_.scratch_folder, request_.memory_bytes / 4);
    rewind();
    for (std::uint64_t row = 0; const std::optional<Video> video = next_video(); ++row) {
      request_.stop_if_asked();
      add(shuffled, order.inverse(row), *video);
    }
    place(std::move(shuffled));
  }

  void place(ExternalSorter frames) {
    frames.finish();
    frames_ = std::move(frames);
  }

  FolderRequest request_;
  std::unique_ptr<Source> files_;
  SourceInfo info_;
  ExternalSorter frames_;
  std::optional<std::pair<std::string, ListedFile>> held_;  // the first frame of the next video
  std::string entry_, first_gap_;
  std::uint64_t gaps_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_frames(const FolderRequest& request) {
  return std::make_unique<FramesSource>(request);
}

}  // namespace shale
