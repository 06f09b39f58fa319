# Puts the files of this folder into the program: makes a source that defines page_files() of page_template.hpp.
#   cmake -D OUTPUT=page_files.cpp -P embed.cmake
file(GLOB files ${CMAKE_CURRENT_LIST_DIR}/*.mustache ${CMAKE_CURRENT_LIST_DIR}/page.css ${CMAKE_CURRENT_LIST_DIR}/page.js)
list(SORT files)
set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(rows "")
foreach(file IN LISTS files)
  # A hash as base64: three digits of hexadecimal are two of base64; of 64 digits one is left over.
  file(SHA256 ${file} hash)
  set(base64 "")
  foreach(begin RANGE 0 63 3)
    string(SUBSTRING "${hash}00" ${begin} 3 three)
    math(EXPR bits "0x${three}")
    math(EXPR first "${bits} >> 6")
    math(EXPR second "${bits} & 63")
    string(SUBSTRING ${digits} ${first} 1 one)
    string(SUBSTRING ${digits} ${second} 1 other)
    string(APPEND base64 "${one}${other}")
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND rows "    {\"${name}\",\n     R\"file(${text})file\",\n     \"sha256-${base64}=\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed.cmake from the files of lib/shale/report/templates.
#include \"shale/report/page_template.hpp\"

namespace shale {
namespace {

constexpr PageFile kPageFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> page_files() { return kPageFiles; }

}  // namespace shale
")
