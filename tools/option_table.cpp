#include "tools/option_table.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "shale/format/format.hpp"
#include "shale/format/layout.hpp"

namespace shale::tools {
namespace {

// Stands for the names of the layouts that the formats have, and for what each of them is.
constexpr std::string_view kLayouts = "LAYOUT";
// Stands for the ways to read files of other tools that the formats have.
constexpr std::string_view kDialects = "HOW";

// Commands, name, value, default, help; then what else is to be said, and what Python calls it.
constexpr Option kOptions[] = {
    // ---- what is written
    {"convert resample", "to", "FORMAT", "",
     "format of the shards (see 'shale formats'); of one file its suffix says it"},
    {"convert resample", "shard-size", "SIZE", "1GiB", "maximum size of each file of a shard"},
    {"convert resample", "shard-samples", "N", "", "maximum number of samples per shard"},
    {"convert resample", "row-group-size", "SIZE", "100MB",
     "(parquet) most bytes of a row group, which readers load as a whole"},
    {"convert", "shards", "N", "",
     "write N shards with as many samples each, whatever their size; of all parts of --part "
     "together"},
    {"convert resample", "fields", "A,B", "", "write only these fields, in this order"},
    {"convert", "drop", "A,B", "", "leave out these fields"},
    {"convert", "rename", "OLD:NEW,...", "",
     "give fields other names: image:images,label:labels; standard: image for image/encoded ..."},
    {"convert", "cast", "FIELD:DTYPE,...", "",
     "give the numbers of fields another type: x:float32,y:uint16; those that do not fit are "
     "refused"},
    {"convert", "lossy", "", "", "with --cast, numbers that do not fit become the nearest that do"},
    {"convert verify info ls cat report", "axis", "NAME=AXIS,...", "",
     "(arrays, in HDF5 files too) axis along which their samples lie, from 0, or -1 for the last: "
     "images=-1; default: the first"},
    {"convert verify info ls cat report resample", "raw", "DTYPE[,N...]", "",
     "(files of numbers without a header) the type of the numbers, and the sides of a row: uint16, "
     "or uint16,400"},
    {"convert verify info ls cat report resample", "raw-offset", "BYTES", "",
     "with --raw, bytes before the first row of each file; default: 0"},
    {"convert resample", "io", "auto|direct|buffered", "auto",
     "bypass the page cache, or write through it"},
    {"convert resample", "overwrite", "", "", "replace existing outputs"},
    {"convert resample merge index", "dry-run", "", "",
     "print what would be written; write nothing"},

    // ---- what is compared, and what is repaired from
    {"verify", "quick", "", "",
     "check the manifest, sizes and index shapes; do not read the payload"},
    {"verify", "full", "", "",
     "(default) also check every block, every checksum and the structure of the container"},
    {"verify", "deep", "", "", "also recompute the digests and decode the images"},
    {"verify", "sample", "P%|N/T|SIZE", "",
     "verify a part of the blocks: N/T is part N of T; of 5% or 10GiB each day reads another part"},
    {"verify", "report", "FILE", "",
     "write a line for each finding into FILE: .tsv has columns, .jsonl JSON"},
    {"verify", "export", "sha256sum", "",
     "print the lines of sha256sum for the files, which are compared with the manifest"},
    {"verify", "against", "SOURCE", "",
     "folder, dataset or array that must hold the same samples, or a list as sha256sum or md5sum "
     "writes it; NAME=FILE or NAME=FOLDER for each of several",
     kRepeated},
    {"verify", "strict", "", "",
     "count files that are not part of the dataset as damage, not only those that are"},
    {"repair", "from", "COPY|SOURCE", "",
     "a copy of the dataset, or of some of its files; or what it was made from: NAME=FILE or "
     "NAME=FOLDER for each of several",
     kRepeated, "source"},

    // ---- which samples there are, and their labels
    {"convert info ls cat report", "labels", "FILE", "",
     "labels of a flat folder: CSV, TSV or JSON lines of path,label, with class names or integers; "
     "Kaggle's and the devkit's lists of ILSVRC; annotations: a file of COCO, a folder of Pascal "
     "VOC or YOLO"},
    {"convert verify repair info ls cat report", "label-from", "PATTERN", "",
     "the class is in the name of each file: '{label}_{*}.jpg', or a regular expression with a "
     "group (?P<label>...)"},
    {"verify", "labels", "FILE", "", "labels of the flat folder given with --against"},
    {"repair", "labels", "FILE", "", "labels of a source that is a flat folder"},
    {"convert verify repair info ls cat report", "label-column", "C,...", "",
     "column of --labels that has the labels, by its name or number; of several each becomes a "
     "field, and label=A,B is one tensor; default: label"},
    {"convert verify repair info ls cat report", "key-column", "C", "",
     "column of --labels that names the files; default: path, file_name or filename"},
    {"convert verify repair info ls cat report", "label-separator", "S", "",
     "what divides several labels in a cell of --labels, which become class numbers in a list"},
    {"convert verify repair info ls cat report", "strip-prefix", "P", "",
     "what the paths in --labels begin with, and those of the files do not, such as D:\\work\\"},
    {"convert info ls cat report", "classes-from", "DATASET|FILE", "",
     "take the class table from another dataset, or from a file with one name per line"},
    {"convert info ls cat report", "class-order", "natural|number", "",
     "labels of classes: in the order of the numbers in their names, 2 before 10, or the number "
     "that "
     "each name is; default: bytewise, as torchvision sorts them"},
    {"convert", "select", "FILE", "",
     "take only the samples that FILE lists: a key or row number per line, an .npy file of rows, a "
     "list or duplicates.csv as shale writes them; - is stdin"},
    {"convert", "exclude", "FILE", "", "leave out the samples that FILE lists"},
    {"convert repair", "keys", "auto|escaped|raw|nul|rows", "auto",
     "what the lines of --select and --exclude are: keys as 'shale ls' prints them, raw bytes, raw "
     "bytes that end in NUL, or row numbers"},
    {"convert", "classes", "A,B", "", "take only the samples of these classes; no label changes"},
    {"convert", "limit", "N", "",
     "take the first N samples, for a trial; with --shuffle N that are drawn by its seed"},
    {"repair", "limit", "N", "", "the --limit that the dataset was converted with"},
    {"repair", "select", "FILE", "", "the --select that the dataset was converted with"},
    {"repair", "exclude", "FILE", "", "the --exclude that the dataset was converted with"},
    {"repair", "classes", "A,B", "", "the --classes that the dataset was converted with"},
    {"repair", "io", "auto|direct|buffered", "auto",
     "direct: writes bypass the page cache; buffered: they use it"},
    {"repair", "dry-run", "", "", "report what is damaged, and change nothing"},
    {"convert", "split", "NAME=SHARE,...|FILE", "",
     "write a dataset per list, OUTPUT/NAME: train=0.9,val=0.1, a share of each class, or the "
     "samples that files name, train=FILE,val=FILE; with a layout of a file per list, those lists",
     kRepeated},
    {"convert", "split-by", "prefix|suffix", "",
     "(a file of named arrays) write a dataset per split, OUTPUT/train, OUTPUT/test: the arrays "
     "that are named after it, train_images or x_train, without it in their names"},
    {"repair", "split", "NAME=SHARE,...|FILE", "",
     "the --split that the dataset was converted with", kRepeated},
    {"convert repair", "split-group", "FIELD", "",
     "keep samples with one value of a field, or of a column of --labels, in one part of --split: "
     "those of a patient, of a video"},
    {"repair", "seed", "N", "", "the --seed of that --split, if it had one"},
    {"convert", "shuffle", "", "", "write the samples in a shuffled order"},
    {"convert", "seed", "N", "0", "seed of --shuffle, and of shares in --split"},
    {"convert verify info ls cat report", "ext", "SUFFIX,...", "",
     "take the files with these suffixes as samples, whatever they hold, instead of images: "
     "mp4,wav; of npy, npz, pt and safetensors the arrays; any: images without suffix, too"},
    {"convert verify info ls cat report", "pairs", "on|off|bytes", "",
     "files with the same name as an image before the first dot become fields of its sample; "
     "bytes: as they are; default: where most images have them; or a pattern for each field: "
     "'image=*.jpg,mask=*_mask.png'"},
    {"convert verify info ls cat report", "on", "row|key", "",
     "(inputs with names) join them by their order, or by the keys of their samples; default: by "
     "their order, and keys must agree"},
    {"convert verify", "partners", "all|any", "",
     "(--on key, folders with names) take the samples that all inputs have, or those of the first, "
     "whatever others have; default: all, exit 4 if some are left out"},
    {"info ls cat report", "partners", "all|any", "",
     "(--on key, folders with names) take the samples that all inputs have, or those of the first, "
     "whatever others have; default: all"},
    {"repair", "on", "row|key", "", "the --on of the conversion, where inputs were joined"},
    {"repair", "partners", "all|any", "", "the --partners of the conversion"},
    {"convert verify info ls cat report", "hidden", "skip|keep", "",
     "files and folders that begin with a dot; default: skip, but refuse a hidden folder with "
     "images"},
    {"convert verify info ls cat report", "group", "frames", "",
     "frames: a folder INPUT/CLASS/VIDEO of images is one sample, the list of its frames"},
    {"convert verify info ls cat report", "allow-empty", "", "",
     "accept classes without images, and an input without images"},
    {"convert", "on-error", "skip|keep|fail", "skip",
     "what to do with images that are empty, truncated or not images"},
    {"convert", "max-errors", "N|P%", "1%",
     "fail if more than this many images are bad (with P%, at least 10 are tolerated)"},

    // ---- work on images
    {"convert", "resize", "[FIELD:]SIZE", "",
     "resize images: shorter=256, longer=512, fit=640x480 or exact=224x224; without image work "
     "they keep their bytes",
     kRepeated},
    {"convert", "only-larger", "", "", "(with --resize) leave smaller images as they are"},
    {"convert", "crop", "[FIELD:]center=WxH", "",
     "crop images to this size around their center, after --resize", kRepeated},
    {"convert", "encode", "[FIELD:]keep|jpeg|png|raw", "",
     "store images as JPEG, PNG or raw pixels; default keep: as their own type", kRepeated},
    {"convert", "quality", "[FIELD:]N", "",
     "quality of JPEGs that are written, 1 to 100; default 90", kRepeated},
    {"convert", "depth", "keep|8|16", "keep",
     "bits a channel of images that are changed: keep leaves 16 where an image has them"},
    {"convert", "alpha", "keep|white", "keep",
     "alpha of images that are changed: a PNG keeps it, or it is laid over white"},
    {"convert", "color", "[FIELD:]rgb|gray|keep", "",
     "channels of images that are changed; default keep: as they are", kRepeated},
    {"convert", "axes", "hwc|chw", "hwc",
     "(with --encode raw) whether channels come last or first"},
    {"convert", "apply-rotation", "", "", "turn the pixels as the EXIF orientation says"},
    {"convert", "strip-metadata", "", "", "leave out EXIF, comments and other metadata"},
    {"convert", "masks", "FIELD,...", "",
     "image fields that are label maps: resized to the nearest pixel, never lossy; default: mask "
     "and names that end in _mask"},

    // ---- how a dataset grows, and what one file is
    {"convert", "append", "", "",
     "write the samples behind those of the finished dataset at OUTPUT"},
    {"convert", "new-classes", "append", "",
     "(with --append) add classes that the dataset does not have behind its others"},
    {"convert", "part", "I/N|slurm|slurm/N|mpi", "",
     "write part I of N (from 0) into OUTPUT/part-I-of-N; I and N may come from a job array or "
     "from MPI",
     kPlain, "parts"},
    {"convert", "listing", "FILE", "",
     "(a folder as input) the list of its files, for all processes that share it: made if it does "
     "not exist"},
    {"convert", "part-offset", "K", "",
     "(with --part slurm/N) part of task 0, where several job arrays make the parts"},
    {"convert", "with-index", "", "",
     "(one file as output) write its index beside it in the same pass, as 'shale index --crc' "
     "does"},
    {"convert", "compress", "none|deflate", "",
     "(.npz as output) compress the arrays; default: none"},
    {"convert", "layout", kLayouts, "", kLayouts},
    {"convert", "verify", "", "", "verify the result (as verify --full does) before finishing"},

    // ---- reports and lists
    {"report", "output", "FILE.html", "",
     "the page to write (also -o); with --json alone none is written", kPlain, "out"},
    {"report", "sample", "N|all", "10000",
     "number of samples that are read for what neither manifest nor index says"},
    {"report", "verify", "", "", "also verify the dataset, as 'shale verify' does"},
    {"report", "overwrite", "", "", "replace an earlier report"},
    {"ls", "tsv", "", "",
     "tab-separated: row, key, label, class, bytes; control characters are escaped"},
    {"ls", "keys", "escaped|raw|nul", "",
     "print the keys alone: a line each, escaped or as their bytes are, or each with a NUL behind "
     "it"},
    {"ls", "rows", "FIRST:END", "",
     "only these rows, END not included; either number may be left out"},

    // ---- files of other tools
    {"convert verify info ls cat report index", "index-dir", "DIR", "",
     "(files of other tools only) directory that holds the index of the file; default: beside it, "
     "or .shale-index in the folder of a set"},
    {"convert verify info ls cat report index", "parse", kDialects, "",
     "(LMDB, HDF5 and TFRecord files) how values become fields: plain, each is one field; msgpack "
     "and "
     "pickle, each holds them; or the layout of a known reader. auto: what the index says, else "
     "the layout that is recognized, else plain. (LMDB files) FIELD=PATTERN,...: entries of one "
     "sample are found by their keys, such as 'image=image-%09d, label=label-%09d, "
     "count=num-samples, from=1'; {key} instead of %09d is the key of the sample"},
    {"convert verify info ls cat report index", "database", "NAME,...", "",
     "(LMDB files) read this named database; several are joined by key, a field each"},
    {"convert index", "native", "wids,dali,energon", "",
     "(tars of WebDataset) write the indexes by which these programs find samples: wids.json, "
     "X.idx, X.tar.idx and .nv-meta"},
    {"index", "crc", "", "",
     "(files of other tools only) read the payload too, to add checksums, block hashes and "
     "digests"},
    {"cat", "key", "KEY", "", "find the sample by its key instead of its row"},
    {"cat", "field", "F", "", "field to write, or 'key'; default: the first field"},
    {"cat", "element", "K", "", "only this element of a field that is a list, counted from 0"},

    // ---- which rows are drawn
    {"resample", "rows", "N", "", "number of rows to write; default: as many as the source has"},
    {"resample", "permute", "", "", "(default) all rows, each once, in a shuffled order"},
    {"resample", "replace", "", "", "draw with replacement, each row with equal probability"},
    {"resample", "weights", "FILE.npy", "",
     "draw with replacement, in proportion to one weight per row"},
    {"resample", "indices", "FILE.npy", "",
     "take the rows with these numbers, in this order; negative numbers count from the end"},
    {"resample", "seed", "N", "0", "seed of the draw"},
    {"resample", "also", "SRC.npy=OUT.npy", "",
     "apply the same draw to another array of the same length; may be given several times",
     kRepeated},
    {"resample", "save-indices", "OUT.npy", "", "write the numbers of the drawn rows, as int64"},
    {"resample", "tmp", "DIR", "", "directory of the scratch file; default: that of the output"},

    // ---- parts
    {"parts", "missing", "", "",
     "print only the numbers of the parts that are missing, unfinished or damaged, as 'sbatch "
     "--array' takes them: 3,7-9",
     kOfTerminals},
    {"parts merge", "verify", "", "",
     "also compare the bytes of the parts with their hashes, not only the sizes of their files"},
    {"merge", "move", "", "", "remove the parts when the result is complete"},

    // ---- common options
    {"convert verify report index repair resample", "jobs", "N", "",
     "number of threads; default: as many as SLURM, CPU affinity and cgroup allow", kCommon},
    {"convert verify ls cat report index repair resample", "memory", "SIZE", "",
     "memory budget, at least 16MiB; default: 256MiB, or a quarter of the limit if that is less",
     kCommon},
    {"convert verify report index repair resample parts merge", "progress", "auto|plain|json|none",
     "auto",
     "auto (a bar on a terminal, elsewhere a line per minute), plain (lines), json (events), none",
     kCommon | kOfTerminals},
    {"convert verify report index repair resample parts merge", "quiet", "", "",
     "no progress, no notes, no report", kCommon | kOfTerminals},
    {"convert resample", "verbose", "", "", "print how many threads and how much memory are used",
     kCommon | kOfTerminals},
    {"convert verify info ls cat report formats index repair resample parts merge", "json", "", "",
     "one JSON object on stdout instead of text", kCommon | kOfTerminals},
    {"convert verify info ls cat report formats index repair resample parts merge completion",
     "help", "", "", "print this help (also -h)", kCommon | kOfTerminals},
};

struct LayoutTexts {
  std::string names, help;
};

const LayoutTexts& layout_texts() {
  static const LayoutTexts texts = [] {
    LayoutTexts joined;
    for (const FormatLayout& each : all_layouts()) {
      const Layout& layout = *each.layout;
      joined.help += joined.names.empty() ? "write the output in this layout: " : "; ";
      joined.names.append(joined.names.empty() ? "" : "|").append(layout.name);
      joined.help += fmt::format("{} ({}): {}", layout.name, layout.container, layout.summary);
    }
    return joined;
  }();
  return texts;
}

const std::string& dialect_names() {
  static const std::string names = [] {
    std::string joined = "auto|plain";
    std::set<Dialect> known = {Dialect::keys};  // asked for by the patterns themselves
    for (const Format* format : all_formats()) {
      for (const Dialect dialect : format->dialects) {
        if (known.insert(dialect).second) joined.append("|").append(name_of(dialect));
      }
    }
    return joined;
  }();
  return names;
}

std::vector<Option> all_options() {
  std::vector<Option> options(std::begin(kOptions), std::end(kOptions));
  for (Option& option : options) {
    if (option.value == kDialects) option.value = dialect_names();
    if (option.value != kLayouts) continue;
    option.value = layout_texts().names;
    option.help = layout_texts().help;
  }
  return options;
}

bool is_among(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::vector<const Option*> options_of(std::string_view command) {
  static const std::vector<Option> all = all_options();
  std::vector<const Option*> options;
  for (const Option& option : all) {
    if (is_among(command, option.commands)) options.push_back(&option);
  }
  return options;
}

std::vector<std::string_view> choices_in(std::string_view value_name) {
  std::vector<std::string_view> choices;
  while (!value_name.empty()) {
    const std::size_t end = std::min(value_name.find('|'), value_name.size());
    const std::string_view word = value_name.substr(0, end);
    const bool is_choice = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (is_choice) choices.push_back(word);
    value_name.remove_prefix(std::min(end + 1, value_name.size()));
  }
  return choices;
}

}  // namespace shale::tools
