#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/data/json_text.hpp"

#include "tests/support/temp_dir.hpp"

// Any bytes are an XML file of a folder, and a text file of another: cells are JSON, or the error
// is about the content.
extern "C" int fuzz_voc(const std::uint8_t* data, std::size_t size) {
  static const shale::test::TempDir dir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = [&](auto read_form, const char* folder, const char* name) {
    std::filesystem::create_directory(dir / folder);
    shale::test::write_file(dir / folder + "/" + name, text);
    try {
      (void)read_form({.path = dir / folder, .scratch_folder = dir.path(), .memory_bytes = 1 << 20},
                      [](const shale::AnnotationRow& row) {
                        for (const shale::JsonMember& cell : row.cells) {
                          if (shale::json_fault(cell.text)) __builtin_trap();
                        }
                      });
    } catch (const shale::Error& error) {
      if (error.code() != shale::Code::bad_content && error.code() != shale::Code::unsupported &&
          error.code() != shale::Code::limit)
        __builtin_trap();
    }
  };
  read(shale::read_voc, "voc", "a.xml");
  read(shale::read_yolo, "yolo", "a.txt");
  read(shale::read_yolo, "yolo", "data.yaml");
  std::filesystem::remove_all(dir / "yolo");
  return 0;
}
