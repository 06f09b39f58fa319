#include "formats/lmdb/lmdb_written_layouts.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

// What the readers do with the lists (CoCLR, dataset/lmdb_dataset.py, commit 45f200e):
//   ClassInd.txt           strip() of each line; if the first one has a comma, what is behind the
//                          last comma of each line
//   {train,test}_split01.csv   UCF101, HMDB51: pandas, no header; of column 0, split at '/', the
//                          last but two is the class, the last but one the video; the classes of
//                          each list are as many as those of ClassInd.txt (assert)
//   {train,val}_split.csv  Kinetics-400: the last but one is the class, the last the video
//   video_source.json      Kinetics-400: "Class/video" -> number of the video it was cut from
// val and test are the same list to the readers, under another name for either dataset.

namespace shale::lmdb {
namespace {

constexpr std::string_view kCoclrName = "CoCLR", kContainer = "LMDB";
constexpr std::string_view kSuffixHint = "choose an output that ends in .lmdb, or in .mdb";
constexpr std::string_view kFramesNote =
    "the frames keep the order of the input; CoCLR's own script sorts their names bytewise";
constexpr std::string_view kSplitNames[] = {"train", "val", "test"};

constexpr ReaderLists kUcf101Lists{.program = kCoclrName,
                                   .classes_name = "ClassInd.txt",
                                   .train_name = "train_split01.csv",
                                   .other_name = "test_split01.csv",
                                   .behind_key = "/"};
constexpr ReaderLists kK400Lists{.program = kCoclrName,
                                 .classes_name = "ClassInd.txt",
                                 .train_name = "train_split.csv",
                                 .other_name = "val_split.csv",
                                 .behind_key = "",
                                 .numbers_name = "video_source.json",
                                 .wants_each_class = false};

// LSUN's readers open CLASS_SPLIT_lmdb: a class that does not end in a split gets that which the
// input is named after.
std::string lsun_directory(std::string_view class_name, std::string_view input) {
  const auto is_split = [](std::string_view name) {
    return std::ranges::find(kSplitNames, name) != std::end(kSplitNames);
  };
  const std::size_t end = class_name.rfind('_');
  const bool has_split =
      end != std::string_view::npos && end > 0 && is_split(class_name.substr(end + 1));
  return has_split
             ? fmt::format("{}_lmdb", class_name)
             : fmt::format("{}_{}_lmdb", class_name, is_split(input) ? input : kSplitNames[0]);
}

std::string k400_file(std::string_view part) {
  return fmt::format("k400_frame_{}.lmdb", part == "train" ? "train" : "val");
}

constexpr Layout kCoclrFile{
    .name = "coclr",
    .option = "coclr",
    .container = kContainer,
    .suffix_hint = kSuffixHint,
    .frames_note = kFramesNote,
    .lists_note =
        "CoCLR's readers also want ClassInd.txt and lists of train and test videos: "
        "--split writes them",
    .lists = &kUcf101Lists};
constexpr Layout kCoclrDirectory{.name = "coclr-k400",
                                 .option = "coclr",
                                 .writes = Layout::Writes::list_files,
                                 .container = kContainer,
                                 .suffix_hint = kSuffixHint,
                                 .frames_note = kFramesNote,
                                 .lists = &kK400Lists,
                                 .part_name = k400_file};
constexpr Layout kXungeFile{
    .name = "xunge", .option = "xunge", .container = kContainer, .suffix_hint = kSuffixHint};
constexpr Layout kCaffeFile{
    .name = "caffe", .option = "caffe", .container = kContainer, .suffix_hint = kSuffixHint};
constexpr Layout kLsunDirectories{.name = "lsun",
                                  .option = "lsun",
                                  .writes = Layout::Writes::class_files,
                                  .container = kContainer,
                                  .suffix_hint = kSuffixHint,
                                  .class_directory = lsun_directory,
                                  .data_name = "data.mdb",
                                  .lock_name = "lock.mdb"};
}  // namespace

const Layout* const kWrittenLayouts[] = {&kCoclrFile, &kCoclrDirectory, &kXungeFile, &kCaffeFile,
                                         &kLsunDirectories};

}  // namespace shale::lmdb
