# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=schema_texts.c -DFOLDER=schemas [-DNEWER=ON] -P embed.cmake
# Writes a C file with the bytes of all .avsc files of FOLDER, sorted by name: schema_texts.h.
# NEWER: each record has one more field, without bytes, as a newer version's schemas differ from
# ours.

file(GLOB paths ${FOLDER}/*.avsc)
list(SORT paths)
set(arrays "")
set(rows "")
foreach(path IN LISTS paths)
    cmake_path(GET path STEM name)
    file(READ ${path} bytes HEX)
    if(NEWER) # before the last "]}"
        string(HEX ", {\"name\": \"raised_limits\", \"type\": \"null\", \"default\": null}]}" field)
        string(REGEX REPLACE "5d7d(0a)*$" "${field}" bytes "${bytes}")
    endif()
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const char text_${name}[] = {\n${bytes}\n};\n")
    string(APPEND rows "    {\"${name}\", {text_${name}, sizeof(text_${name})}},\n")
endforeach()
list(LENGTH paths count)
file(WRITE ${OUTPUT} "/* Made by schemas/avro/embed.cmake from the .avsc files. */
#include \"schemas/avro/schema_texts.h\"

${arrays}
const struct schema_text schema_texts[] = {
${rows}};
const uint32_t schema_text_count = ${count};
")
