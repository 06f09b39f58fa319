"""Where lib, tools and python name a format by a literal, and why: the exceptions of a rule of house_test.py."""

_IS_A_RECORD = "the word for a sample as its container keeps it, not the format"
_IS_NUMPY = "an .npz archive is a zip file of .npy files, and NumPy's files are input of their own"
_MEANS_OUTPUT = "to go: what a name with this suffix writes is to be a target, by facts of the row"
NAMES_A_FORMAT = {
    ("lib/shale/data/schema.cpp", "record"): "a column of the index",
    ("lib/shale/data/shard_index.cpp", "webdataset"): "the name of a dialect: how others lay samples in tar archives",
    ("lib/shale/verify/verify.cpp", "record"): _IS_A_RECORD,
    ("lib/shale/verify/verify_shard.cpp", "record"): _IS_A_RECORD,
    ("lib/shale/arrays/array_file.cpp", ".npy"): _IS_NUMPY,
    ("lib/shale/arrays/array_headers.cpp", "npy"): _IS_NUMPY,
    ("lib/shale/labels/sample_choice.cpp", ".npy"): "--select takes a file of numbers, which NumPy writes",
    ("lib/shale/sources/open_input.cpp", ".npy"): _IS_NUMPY,
    ("lib/shale/sources/open_input.cpp", ".pt"): "to go: the kinds of input are to be a table",
    ("lib/shale/sources/open_input.cpp", ".safetensors"): "to go: the same",
    ("lib/shale/verify/compare_remade.cpp", "record"): "to go: any format that holds every kind would do",
    ("lib/shale/requests/convert_request.cpp", "npy"): _MEANS_OUTPUT,
    ("lib/shale/requests/convert_request.hpp", ".npy"): _MEANS_OUTPUT,
    ("lib/shale/requests/convert_request.hpp", ".pt"): _MEANS_OUTPUT,
    ("lib/shale/requests/convert_request.hpp", ".safetensors"): _MEANS_OUTPUT,
    ("lib/shale/targets/file_target.cpp", ".npy"): _IS_NUMPY,
    ("tools/cmd_completion.cpp", ".npy"): "a placeholder in the help of options",
}
