#!/usr/bin/env python3
"""Writes tests/gguf/fixtures/python.gguf with the `gguf` Python package, and python.txt: what a reader has to find.

The package is the format's reference writer; python.txt is derived from the values here, not by any reader of ours.
Lines: key<TAB>type<TAB>value as `brass show` prints it, then tensor<TAB>name<TAB>type<TAB>dims<TAB>bytes<TAB>sum of bytes.

usage: gguf_fixtures.py [FOLDER]        (needs: pip install gguf numpy)
       gguf_fixtures.py --check FILE    loads FILE with the package's own reader and prints the same lines (that
                                        reader flattens nested arrays)
"""
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf import GGUFValueType as V

SCALARS = [
    ("test.u8", V.UINT8, 255), ("test.i8", V.INT8, -128), ("test.u16", V.UINT16, 65535),
    ("test.i16", V.INT16, -32768), ("test.u32", V.UINT32, 4294967295), ("test.i32", V.INT32, -2147483648),
    ("test.f32", V.FLOAT32, 0.1), ("test.bool", V.BOOL, True), ("test.string", V.STRING, 'gr\u00fc\u00df "x"\n'),
    ("test.u64", V.UINT64, 2**64 - 1), ("test.i64", V.INT64, -(2**63)), ("test.f64", V.FLOAT64, 0.1),
]
ARRAYS = [
    ("test.array.i32", V.INT32, [1, -2, 3]), ("test.array.f32", V.FLOAT32, [0.5, -0.25]),
    ("test.array.bool", V.BOOL, [True, False]), ("test.array.string", V.STRING, ["a", "", "\u00e4"]),
    ("test.array.nested", V.ARRAY, [[1, -2], [3]]),
]
TYPES = [Q.F32, Q.F16, Q.BF16, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0]
NAMES = {V.UINT8: "u8", V.INT8: "i8", V.UINT16: "u16", V.INT16: "i16", V.UINT32: "u32", V.INT32: "i32",
         V.FLOAT32: "f32", V.BOOL: "bool", V.STRING: "string", V.UINT64: "u64", V.INT64: "i64", V.FLOAT64: "f64",
         V.ARRAY: "array"}


def show(value):
    if isinstance(value, list):
        return "[" + ", ".join(show(v) for v in value) + "]"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return str(value)


def tensor_line(name, kind, dims, data):
    raw = np.ascontiguousarray(data).view(np.uint8)
    return "\t".join(["tensor", name, kind.name, show([int(d) for d in dims]), str(raw.nbytes), str(int(raw.sum()))])


def write(folder):
    writer = gguf.GGUFWriter(folder / "python.gguf", "llama")
    lines = ['general.architecture\tstring\t"llama"']
    for key, kind, value in SCALARS:
        writer.add_key_value(key, value, kind)
        lines.append(f"{key}\t{NAMES[kind]}\t{show(value)}")
    for key, kind, value in ARRAYS:
        writer.add_key_value(key, value, V.ARRAY, sub_type=kind)
        lines.append(f"{key}\tarray\t{show(value)}")
    writer.add_custom_alignment(64)
    lines.append("general.alignment\tu32\t64")
    rng = np.random.default_rng(1)
    for kind in TYPES:
        values = rng.normal(0, 0.05, (3, 64)).astype(np.float32)
        data = gguf.quants.quantize(values, kind)
        writer.add_tensor(f"{kind.name}.weight", data, raw_dtype=kind)
        lines.append(tensor_line(f"{kind.name}.weight", kind, [64, 3], data))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "python.txt").write_text("\n".join(lines) + "\n")


def check(path):
    reader = gguf.GGUFReader(path)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF."):
            value = field.contents()
            single = np.float32 if V.FLOAT32 in field.types else lambda v: v
            value = [single(v) for v in value] if isinstance(value, list) else single(value)
            print(f"{field.name}\t{NAMES[field.types[0]]}\t{show(value)}")
    for tensor in reader.tensors:
        print(tensor_line(tensor.name, tensor.tensor_type, tensor.shape, tensor.data))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    else:
        default = pathlib.Path(__file__).resolve().parents[2] / "tests/gguf/fixtures"
        write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default)
