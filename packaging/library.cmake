# What others link (docs/cpp.md): libshale.so, the public headers, and the files by which CMake and pkg-config find them. One shared library
# holds all of shale but the program: whoever links it needs none of the libraries that shale is made of, nor their headers.
include(CMakePackageConfigHelpers)

file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/shale/*.hpp)
add_library(libshale SHARED $<TARGET_OBJECTS:shale_api>)
add_library(shale::shale ALIAS libshale)
target_link_libraries(libshale PRIVATE shale_ops "$<LINK_LIBRARY:WHOLE_ARCHIVE,shale_formats>")
target_include_directories(libshale INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(libshale INTERFACE cxx_std_20)
# Every symbol that is not of a public header stays inside, those of the libraries too: another HDF5 or libjpeg may be in the same process.
set(exports ${CMAKE_CURRENT_LIST_DIR}/library.map)
target_link_options(libshale PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
# An interface of a version 0.x may change with each x.
set_target_properties(libshale PROPERTIES OUTPUT_NAME shale EXPORT_NAME shale LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/shale)
install(TARGETS libshale EXPORT shaleTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shale COMPONENT library)
install(EXPORT shaleTargets NAMESPACE shale:: FILE shaleConfig.cmake DESTINATION ${packages} COMPONENT library)
write_basic_package_version_file(shaleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH SHALE_PREFIX_OF_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/shale.pc.in shale.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shaleConfigVersion.cmake DESTINATION ${packages} COMPONENT library)
install(FILES ${PROJECT_BINARY_DIR}/shale.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
