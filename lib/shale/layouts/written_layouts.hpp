#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/format/layout.hpp"

// The layouts that are written for readers of other programs: which files there are, what lies
// beside them, and their names. The bytes are the format's.
//
// What the readers do with the lists (CoCLR, dataset/lmdb_dataset.py, commit 45f200e):
//   ClassInd.txt           strip() of each line; if the first one has a comma, what is behind the
//                          last comma of each line
//   {train,test}_split01.csv   UCF101, HMDB51: pandas, no header; of column 0, split at '/', the
//                          last but two is the class, the last but one the video; the classes of
//                          each list are as many as those of ClassInd.txt (assert)
//   {train,val}_split.csv  Kinetics-400: the last but one is the class, the last the video
//   video_source.json      Kinetics-400: "Class/video" -> number of the video it was cut from
// val and test are the same list to the readers, under another name for either dataset.

namespace shale::layouts {

inline constexpr std::string_view kCoclr = "coclr";
inline constexpr std::string_view kBasicsr = "basicsr";
inline constexpr std::string_view kCoclrName = "CoCLR";
inline constexpr std::string_view kSuffixHint = "choose an output that ends in .lmdb, or in .mdb";
inline constexpr std::string_view kFramesNote =
    "the frames keep the order of the input; CoCLR's own script sorts their names bytewise";

inline constexpr ReaderLists kUcf101Lists{.program = kCoclrName,
                                          .classes_name = "ClassInd.txt",
                                          .train_name = "train_split01.csv",
                                          .other_name = "test_split01.csv",
                                          .behind_key = "/"};
inline constexpr ReaderLists kK400Lists{.program = kCoclrName,
                                        .classes_name = "ClassInd.txt",
                                        .train_name = "train_split.csv",
                                        .other_name = "val_split.csv",
                                        .behind_key = "",
                                        .numbers_name = "video_source.json",
                                        .wants_each_class = false};

/// LSUN's readers open CLASS_SPLIT_lmdb: a class that does not end in a split gets that which the
/// input is named after.
[[nodiscard]] std::string lsun_directory(std::string_view class_name, std::string_view input);
[[nodiscard]] std::string k400_file(std::string_view part);
/// The next of the numbers below `count`, in the order of their digits: 0 1 10 100 11 2.
[[nodiscard]] std::uint64_t next_by_digits(std::uint64_t number, std::uint64_t count);

[[nodiscard]] constexpr Layout in_one_file(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .option = name,
          .container = "LMDB",
          .suffix_hint = kSuffixHint};
}

[[nodiscard]] constexpr Layout coclr_file() {
  Layout row = in_one_file(kCoclr, "for CoCLR");
  row.frames_note = kFramesNote;
  row.lists_note =
      "CoCLR's readers also want ClassInd.txt and lists of train and test videos: "
      "--split writes them";
  row.lists = &kUcf101Lists;
  return row;
}

[[nodiscard]] constexpr Layout coclr_directory() {
  Layout row = coclr_file();
  row.name = "coclr-k400";
  row.summary = "for CoCLR on Kinetics-400: OUTPUT becomes a directory";
  row.writes = Layout::Writes::list_files;
  row.lists_note = {};
  row.lists = &kK400Lists;
  row.part_name = k400_file;
  return row;
}

[[nodiscard]] constexpr Layout lsun_directories() {
  Layout row = in_one_file("lsun", "OUTPUT becomes a directory with one LMDB directory per class");
  row.writes = Layout::Writes::class_files;
  row.class_directory = lsun_directory;
  row.data_name = "data.mdb";
  row.lock_name = "lock.mdb";
  row.one_file_layout = kBasicsr;
  return row;
}

[[nodiscard]] constexpr Layout basicsr_file(std::string_view suffix,
                                            decltype(Layout::entry_line) entry_line) {
  Layout row = in_one_file(
      kBasicsr, "for BasicSR: OUTPUT becomes a directory with data.mdb and meta_info.txt");
  row.data_name = "data.mdb";
  row.directory_suffix = suffix;
  row.entries_name = "meta_info.txt";
  row.entry_line = entry_line;
  return row;
}

}  // namespace shale::layouts
