#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/partners/file_pairs.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Names of files in one folder: images end in .jpg or .png, the others may be partners.
struct Pairing {
  explicit Pairing(const std::vector<std::string>& names) : pairs(dir.path(), 3 << 20, [] {}) {
    for (const std::string& name : names) {
      const std::string_view shared = pair_name_of(name);
      if (is_image(name)) continue;
      pairs.add_file("cat", shared, pair_suffix_of(name),
                     {.directory = "cat", .name = name, .bytes = name.size()});
    }
    for (const std::string& name : names) {
      if (is_image(name)) pairs.add_sample("cat", pair_name_of(name), name.substr(name.rfind('.')));
    }
  }
  static bool is_image(std::string_view name) {
    return name.ends_with(".jpg") || name.ends_with(".png");
  }
  void match(PairPolicy policy) {
    pairs.match_all([this](const FilePairs::Surplus& file) { unused.emplace_back(file.file); },
                    policy, "root");
  }
  TempDir dir;
  FilePairs pairs;
  std::vector<std::string> unused;
};

using Names = std::vector<std::string>;

TEST_CASE("file pairs: what every image has becomes a field, sorted by suffix") {
  Pairing pairing({"1.jpg", "1.txt", "1.json", "2.jpg", "2.json", "2.TXT", "2.cls", "README.md"});
  pairing.match(PairPolicy::automatic);
  CHECK(suffixes_text(pairing.pairs.fields()) == "json:json,txt");
  CHECK(pairing.pairs.fields()[1].kind == Kind::text);
  CHECK(pairing.unused == Names{"2.cls", "README.md"});
  const std::vector<ListedPartner> first = pairing.pairs.next(), second = pairing.pairs.next();
  CHECK(first[0].suffix == ".json");
  CHECK(first[0].bytes == 6);
  CHECK(second[1].suffix == ".TXT");
  CHECK(pairing.pairs.incomplete() == 0);
}

TEST_CASE("file pairs: where half of the images lack it there is none, but with the policy on") {
  const Names names = {"1.jpg", "1.txt", "2.jpg"};
  Pairing automatic(names), on(names);
  automatic.match(PairPolicy::automatic);
  CHECK(automatic.pairs.fields().empty());
  CHECK(automatic.unused == Names{"1.txt"});
  on.match(PairPolicy::on);
  CHECK(suffixes_text(on.pairs.fields()) == "txt:text?");
  CHECK(on.pairs.incomplete() == 0);
  CHECK(on.pairs.next()[0].suffix == ".txt");
  CHECK_FALSE(on.pairs.next()[0].suffix);
}

TEST_CASE("file pairs: two images of one name share their partners") {
  Pairing pairing({"1.jpg", "1.png", "1.txt"});
  pairing.match(PairPolicy::automatic);
  CHECK(pairing.pairs.next()[0].suffix == ".txt");
  CHECK(pairing.pairs.next()[0].suffix == ".txt");
  CHECK(pairing.unused.empty());
}

TEST_CASE("file pairs: a name that numbered images share pairs nothing") {
  Pairing pairing({"frame.1.jpg", "frame.2.jpg", "frame.1.txt", "frame.2.txt"});
  pairing.match(PairPolicy::automatic);
  CHECK(pairing.pairs.fields().empty());
  CHECK(pairing.unused.size() == 2);
}

TEST_CASE("file pairs: two files of one name and suffix are an error that names both") {
  Pairing pairing({"1.jpg", "1.txt", "1.TXT"});
  const Error error = error_of([&] { pairing.match(PairPolicy::on); });
  CHECK(error.code() == Code::bad_content);
  CHECK(error.file() == "root/cat/1.txt");
  CHECK(std::string(error.what()).find("1.TXT") != std::string::npos);
}

TEST_CASE("file pairs: two suffixes of one field are an error that names both files") {
  for (const PairPolicy policy : {PairPolicy::on, PairPolicy::automatic}) {
    Pairing pairing({"1.jpg", "1.a.b", "1.a_b"});
    const Error error = error_of([&] { pairing.match(policy); });
    CHECK(error.code() == Code::bad_content);
    CHECK(error.file() == "root/cat/1.a_b");
    CHECK(std::string(error.what()).find("cat/1.a.b") != std::string::npos);
  }
}

TEST_CASE("file pairs: a suffix that cannot be a field is an error with the policy on") {
  Pairing on({"1.jpg", "1.a,b"}), automatic({"1.jpg", "1.a,b"});
  CHECK(error_of([&] { on.match(PairPolicy::on); }).file() == "root/cat/1.a,b");
  automatic.match(PairPolicy::automatic);
  CHECK(automatic.unused == Names{"1.a,b"});
}

TEST_CASE("file pairs: what only some images have is told, the most frequent first") {
  Pairing pairing({"1.jpg", "2.jpg", "3.jpg", "4.jpg", "1.cls", "1.txt", "2.txt", "3.json", "1.x",
                   "2.x", "3.x", "4.x", "1.y"});
  pairing.match(PairPolicy::automatic);
  CHECK(pairing.pairs.partial() == "txt (2 of 4), cls (1 of 4), json (1 of 4) ...");
  CHECK(suffixes_text(pairing.pairs.fields()) == "x");
}

TEST_CASE("file pairs: what most images have is an optional field, and the note says of how many") {
  Pairing pairing({"1.jpg", "2.jpg", "3.jpg", "4.jpg", "1.txt", "3.txt", "4.txt", "1.json"});
  pairing.match(PairPolicy::automatic);
  CHECK(suffixes_text(pairing.pairs.fields()) == "txt:text?");
  CHECK(pairing.pairs.partial() == "json (1 of 4)");
  CHECK(note_on_pairs(pairing.pairs.fields(), "image").find("txt (.txt, for 3 of 4)") !=
        std::string::npos);
  CHECK(pairing.pairs.next()[0].suffix == ".txt");
  CHECK_FALSE(pairing.pairs.next()[0].suffix);
  Pairing twice({"1.jpg", "2.jpg", "3.jpg", "1.txt", "2.txt", "2.TXT", "3.txt"});
  CHECK(error_of([&] { twice.match(PairPolicy::automatic); }).file() == "root/cat/2.txt");
}

TEST_CASE("file pairs: what all images have is found behind any number of other suffixes") {
  Names names;
  for (int i = 100; i < 300; ++i) {
    names.push_back(std::to_string(i) + ".jpg");
    names.push_back(std::to_string(i) + ".a" + std::to_string(i));
    names.push_back(std::to_string(i) + ".txt");
  }
  Pairing pairing(names);
  pairing.match(PairPolicy::automatic);
  CHECK(suffixes_text(pairing.pairs.fields()) == "txt");
}

TEST_CASE("file pairs: names of fields follow from suffixes") {
  CHECK(pair_field_of("Meta.JSON")->name == "meta_json");
  CHECK(pair_field_of("key")->name == "key_file");
  CHECK(pair_field_of("image")->name == "image_file");
  CHECK_FALSE(pair_field_of("a,b").has_value());
  CHECK_FALSE(pair_field_of("a:text").has_value());
  CHECK_FALSE(pair_field_of("\x01").has_value());
  CHECK_FALSE(pair_field_of("\xff").has_value());
}

TEST_CASE("file pairs: types are written where sets of before had others, and read back") {
  const std::vector<PairField> before = pair_fields_of("json,txt"),
                               now = pair_fields_of("a.json:json?,json:json,mask:bytes?,txt");
  CHECK(before[0].kind == Kind::bytes);
  CHECK(before[1].kind == Kind::text);
  CHECK(now[0].name == "a_json");
  CHECK(now[0].is_json);
  CHECK(now[0].is_optional);
  CHECK(now[2].kind == Kind::bytes);
  CHECK_FALSE(now[3].is_optional);
  CHECK(suffixes_text(before) == "json,txt");
  CHECK(suffixes_text(now) == "a.json:json?,json:json,mask:bytes?,txt");
  CHECK(error_of([] { (void)pair_fields_of("n:int32"); }).code() == Code::damaged);
}

// Samples of one folder, and files of another that is called mask.
struct Joining {
  Joining(const Names& samples, const Names& files) : pairs(dir.path(), 3 << 20, [] {}) {
    for (const std::string& name : files)
      pairs.add_file("cat", pair_name_of(name), "mask",
                     {.directory = "cat", .name = name, .bytes = 1});
    for (const std::string& name : samples) {
      const std::string_view shared = pair_name_of(name);
      pairs.add_sample("cat", shared, std::string_view(name).substr(shared.size()));
    }
  }
  void match() {
    pairs.match_folders(
        [this](const FilePairs::Surplus& file) {
          unused.push_back(std::string(file.suffix) + ":" + std::string(file.folder) + "/" +
                           std::string(file.file));
        },
        {{.field = "image", .root = "photos"}, {.field = "mask", .root = "masks"}});
  }
  TempDir dir;
  FilePairs pairs;
  Names unused;
};

TEST_CASE("file pairs: files of folders are joined by name, whatever their suffix") {
  Joining joining({"1.jpg", "2.jpg"}, {"1.png", "2", "3.png"});
  joining.match();
  CHECK(joining.pairs.next()[0].suffix == ".png");
  const ListedPartner second = joining.pairs.next()[0];
  CHECK(second.suffix == "");
  CHECK(second.bytes == 1);
  CHECK(joining.unused == Names{"mask:cat/3.png"});
}

TEST_CASE("file pairs: a folder whose joined files all are images is one of images") {
  Joining images({"1.jpg", "2.jpg"}, {"1.png", "2.PNG", "3.npy"}), others({"1.jpg"}, {"1.npy"});
  images.match();
  others.match();
  CHECK(images.pairs.image_folders() == "mask");
  CHECK(others.pairs.image_folders().empty());
}

TEST_CASE("file pairs: two files of one name in one folder are an error that names both") {
  Joining files({"1.jpg"}, {"1.png", "1.npy"}), samples({"1.a.jpg", "1.b.jpg"}, {"1.png"});
  CHECK(std::string(error_of([&] { files.match(); }).what()) ==
        "masks/cat/1.png: has the same name before the first dot as 1.npy");
  CHECK(std::string(error_of([&] { samples.match(); }).what()) ==
        "photos/cat/1.b.jpg: has the same name before the first dot as 1.a.jpg");
}

TEST_CASE("file pairs: a folder that has no file of any sample is an error") {
  Joining joining({"1.jpg"}, {"a.png"});
  const Error error = error_of([&] { joining.match(); });
  CHECK(error.code() == Code::bad_content);
  CHECK(error.file() == "masks");
}

TEST_CASE(
    "file pairs: the types of fields, with commas in their shapes, are read as they are written") {
  constexpr std::string_view kTexts[] = {
      "json,txt",
      "json:json?,npy:float32 (17, 3),txt:bytes",
      "npy:int64 (),pose.npy:bfloat16 (?, 4)?,x:text",
      "npy:datetime64[ns] (3,),txt",
      "npy",
  };
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    CHECK(suffixes_text(pair_fields_of(text)) == text);
  }
  CHECK(pair_fields_of("npy").front().kind == Kind::bytes);
  CHECK(pair_fields_of("npy:int64 ()").front().as_field().shape.empty());
  CHECK(pair_fields_of("npy:int64 ()").front().kind == Kind::tensor);
  CHECK_THROWS_AS((void)pair_fields_of("npy:list of text"), Error);
}

TEST_CASE("file pairs: folders get the types that the option has") {
  const std::string names = "image,pose:float32 (?, 2)?,mask?";
  const std::vector<NamedFolder> folders =
      with_recorded_types({{.field = "image", .root = "a"},
                           {.field = "pose", .root = "b", .is_optional = true},
                           {.field = "mask", .root = "c", .is_optional = true}},
                          names);
  CHECK(names_text(folders) == names);
  CHECK(folders[1].as_field().is_ragged());
  CHECK(folders[2].as_field().kind == Kind::bytes);
}

TEST_CASE("file pairs: as bytes is what every suffix becomes") {
  Pairing of({"1.jpg", "1.npy", "1.txt", "1.json"});
  of.match(PairPolicy::bytes);
  CHECK(suffixes_text(of.pairs.fields()) == "json,npy,txt:bytes");
}

}  // namespace
}  // namespace shale
