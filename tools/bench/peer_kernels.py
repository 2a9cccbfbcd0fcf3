#!/usr/bin/env python3
"""llama.cpp's matrix product in one weight format, timed through its own CPU backend (tools/bench/kernel_table.py).

    tools/bench/peer_kernels.py TYPE [--cols K] [--rows N] [--rows-512 N] [--threads 2]

Loads the prebuilt libraries that `tools/bench/peers.py setup` fetched (npm), and prints one line of JSON: seconds on the
wall clock of the product of an N × K weight with 1, 4 and 512 columns of float32 activations (the best of 5, 5 and 3
after one that does not count), and the root mean square error against the double product, relative.

The weight lies where llama.cpp puts a model's: in the first of the CPU device's extra buffer types (AMX, repacked) that
supports the product, else in plain memory. It is a quantized pattern of normal random rows, repeated.
"""

import argparse
import ctypes
import json
import math
import operator
import random
import sys
import time
from array import array
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peers  # noqa: E402

# The type ids of the GGUF format.
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12,
         "Q5_K": 13, "Q6_K": 14, "IQ2_XXS": 16, "IQ2_XS": 17, "IQ3_XXS": 18, "IQ1_S": 19, "IQ4_NL": 20, "IQ3_S": 21,
         "IQ2_S": 22, "IQ4_XS": 23, "IQ1_M": 29, "BF16": 30, "TQ1_0": 34, "TQ2_0": 35, "MXFP4": 39, "NVFP4": 40,
         "Q1_0": 41, "Q2_0": 42}
I32 = 26
PATTERN_ROWS = 64
ROUNDS = {1: 5, 4: 5, 512: 3}


class ContextParams(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("memory", c_void_p), ("no_alloc", c_bool)]


class PoolParams(ctypes.Structure):
    _fields_ = [("cpus", c_bool * 512), ("threads", c_int), ("priority", c_int), ("poll", c_uint32), ("strict", c_bool),
                ("paused", c_bool)]


class Feature(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


# name: (library, result, arguments); only what is called below
FUNCTIONS = {
    "ggml_init": ("base", c_void_p, [ContextParams]),
    "ggml_free": ("base", None, [c_void_p]),
    "ggml_row_size": ("base", c_size_t, [c_int, c_int64]),
    "ggml_new_tensor_2d": ("base", c_void_p, [c_void_p, c_int, c_int64, c_int64]),
    "ggml_new_tensor_1d": ("base", c_void_p, [c_void_p, c_int, c_int64]),
    "ggml_mul_mat": ("base", c_void_p, [c_void_p, c_void_p, c_void_p]),
    "ggml_get_rows": ("base", c_void_p, [c_void_p, c_void_p, c_void_p]),
    "ggml_new_graph": ("base", c_void_p, [c_void_p]),
    "ggml_build_forward_expand": ("base", None, [c_void_p, c_void_p]),
    "ggml_quantize_chunk": ("base", c_size_t, [c_int, POINTER(c_float), c_void_p, c_int64, c_int64, c_int64,
                                               POINTER(c_float)]),
    "ggml_threadpool_params_init": ("base", None, [POINTER(PoolParams), c_int]),
    "ggml_backend_alloc_ctx_tensors_from_buft": ("base", c_void_p, [c_void_p, c_void_p]),
    "ggml_backend_buffer_free": ("base", None, [c_void_p]),
    "ggml_backend_buft_name": ("base", c_char_p, [c_void_p]),
    "ggml_backend_tensor_set": ("base", None, [c_void_p, c_void_p, c_size_t, c_size_t]),
    "ggml_backend_tensor_get": ("base", None, [c_void_p, c_void_p, c_size_t, c_size_t]),
    "ggml_backend_graph_compute": ("base", c_int, [c_void_p, c_void_p]),
    "ggml_backend_dev_supports_op": ("base", c_bool, [c_void_p, c_void_p]),
    "ggml_backend_dev_buffer_type": ("base", c_void_p, [c_void_p]),
    "ggml_backend_dev_init": ("base", c_void_p, [c_void_p, c_char_p]),
    "ggml_backend_dev_backend_reg": ("base", c_void_p, [c_void_p]),
    "ggml_backend_reg_get_proc_address": ("base", c_void_p, [c_void_p, c_char_p]),
    "ggml_backend_load_all_from_path": ("ggml", None, [c_char_p]),
    "ggml_backend_dev_by_type": ("ggml", c_void_p, [c_int]),
}
CPU_DEVICE = 0


class Library:
    """The functions above as attributes, without their prefix, and the CPU backend on some threads."""

    def __init__(self, threads):
        folder = peers.npm_folder()
        if not folder.exists():
            sys.exit("peer_kernels: no libraries; run tools/bench/peers.py setup --peers npm")
        files = {"base": folder / "libggml-base.so", "ggml": folder / f"libggml.v{peers.LLAMA_CPP}.so"}
        libraries = {name: ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL) for name, file in files.items()}
        for name, (library, result, arguments) in FUNCTIONS.items():
            function = getattr(libraries[library], name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("ggml_"), function)
        self.backend_load_all_from_path(str(folder).encode())
        self.device = self.backend_dev_by_type(CPU_DEVICE)
        self.backend = self.backend_dev_init(self.device, None)
        params = PoolParams()
        self.threadpool_params_init(params, threads)
        pool = self.proc("ggml_threadpool_new", c_void_p, POINTER(PoolParams))(params)
        self.proc("ggml_backend_set_n_threads", None, c_void_p, c_int)(self.backend, threads)
        self.proc("ggml_backend_cpu_set_threadpool", None, c_void_p, c_void_p)(self.backend, pool)

    def proc(self, name, result, *arguments):
        address = self.backend_reg_get_proc_address(self.backend_dev_backend_reg(self.device), name.encode())
        if not address:
            sys.exit(f"peer_kernels: the CPU backend has no {name}")
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def features(self):
        listed = self.proc("ggml_backend_get_features", POINTER(Feature), c_void_p)(
            self.backend_dev_backend_reg(self.device))
        names = []
        for feature in iter_until(listed, lambda f: not f.name):
            names.append(f"{feature.name.decode()} = {feature.value.decode()}")
        return ", ".join(names)

    def buffer_types(self):
        """In llama.cpp's order of preference for weights."""
        extra = self.proc("ggml_backend_dev_get_extra_bufts", POINTER(c_void_p), c_void_p)(self.device)
        return [*iter_until(extra, lambda buft: not buft), self.backend_dev_buffer_type(self.device)]

    def context(self):
        return self.init(ContextParams(16 << 20, None, True))

    def allocate(self, context, buffer_type):
        buffer = self.backend_alloc_ctx_tensors_from_buft(context, buffer_type)
        if not buffer:
            sys.exit("peer_kernels: out of memory")
        return buffer

    def compute(self, context, result):
        graph = self.new_graph(context)
        self.build_forward_expand(graph, result)

        def run():
            if self.backend_graph_compute(self.backend, graph) != 0:
                sys.exit("peer_kernels: the product failed")
        return run


def iter_until(pointer, ends):
    i = 0
    while not ends(pointer[i]):
        yield pointer[i]
        i += 1


class Weight:
    """A weight of N rows that repeat a pattern, where llama.cpp would put it."""

    def __init__(self, library, kind, cols, rows, pattern):
        self.library, self.kind, self.cols, self.rows = library, kind, cols, rows
        plain = library.backend_dev_buffer_type(library.device)
        for buffer_type in library.buffer_types():
            self.context = library.context()
            self.tensor = library.new_tensor_2d(self.context, kind, cols, rows)
            self.buffer = library.allocate(self.context, buffer_type)
            if buffer_type == plain or self.serves_product():
                break
            self.free()
        self.placed = library.backend_buft_name(buffer_type).decode()
        data = pattern * -(-rows // PATTERN_ROWS)
        library.backend_tensor_set(self.tensor, data, 0, len(pattern) // PATTERN_ROWS * rows)

    def serves_product(self):
        product = Product(self, array("f", [0.0]) * self.cols, 1)
        supported = self.library.backend_dev_supports_op(self.library.device, product.y)
        product.free()
        return supported

    def free(self):
        self.library.backend_buffer_free(self.buffer)
        self.library.free(self.context)


class Product:
    """A weight times T columns of activations."""

    def __init__(self, weight, activations, tokens):
        self.library, self.rows, self.tokens = weight.library, weight.rows, tokens
        self.context = self.library.context()
        x = self.library.new_tensor_2d(self.context, TYPES["F32"], weight.cols, tokens)
        self.y = self.library.mul_mat(self.context, weight.tensor, x)
        self.buffer = self.library.allocate(self.context, self.library.backend_dev_buffer_type(self.library.device))
        self.library.backend_tensor_set(x, activations[:tokens * weight.cols].tobytes(), 0, 4 * weight.cols * tokens)
        self.run = self.library.compute(self.context, self.y)

    def free(self):
        self.library.backend_buffer_free(self.buffer)
        self.library.free(self.context)

    def seconds(self):
        best = math.inf
        for round_number in range(ROUNDS[self.tokens] + 1):
            begin = time.perf_counter()
            self.run()
            if round_number > 0:
                best = min(best, time.perf_counter() - begin)
        return best

    def result(self, rows):
        """The first rows of what it computed, column by column."""
        values = (c_float * rows)()
        for t in range(self.tokens):
            self.library.backend_tensor_get(self.y, values, 4 * self.rows * t, 4 * rows)
            yield list(values)


def decoded(library, kind, cols, pattern):
    """The pattern's rows as floats, by the library's own decoder."""
    context = library.context()
    plain = library.new_tensor_2d(context, kind, cols, PATTERN_ROWS)
    wanted = library.new_tensor_1d(context, I32, PATTERN_ROWS)
    rows = library.get_rows(context, plain, wanted)
    library.allocate(context, library.backend_dev_buffer_type(library.device))
    library.backend_tensor_set(plain, pattern, 0, len(pattern))
    library.backend_tensor_set(wanted, array("i", range(PATTERN_ROWS)).tobytes(), 0, 4 * PATTERN_ROWS)
    library.compute(context, rows)()
    values = (c_float * (cols * PATTERN_ROWS))()
    library.backend_tensor_get(rows, values, 0, 4 * len(values))
    return [list(values[n * cols:(n + 1) * cols]) for n in range(PATTERN_ROWS)]


def error_of(product, weights, activations, cols):
    """Relative root mean square error of the first columns, against a product in double."""
    off = norm = 0.0
    for t, got in enumerate(product.result(PATTERN_ROWS)):
        x = activations[t * cols:(t + 1) * cols]
        for row, value in zip(weights, got):
            want = sum(map(operator.mul, row, x))
            off += (value - want) ** 2
            norm += want * want
    return math.sqrt(off / norm)


def quantized(library, kind, cols):
    rng = random.Random(1)
    values = (c_float * (PATTERN_ROWS * cols))(*(rng.gauss(0, 0.05) for _ in range(PATTERN_ROWS * cols)))
    importance = (c_float * cols)(*([1.0] * cols))
    data = ctypes.create_string_buffer(library.row_size(kind, cols) * PATTERN_ROWS)
    if kind == TYPES["F32"]:
        return bytes(values)
    library.quantize_chunk(kind, values, data, 0, PATTERN_ROWS, cols, importance)
    return data.raw


def main():
    parser = argparse.ArgumentParser(description="llama.cpp's matrix product in one weight format")
    parser.add_argument("type", choices=list(TYPES))
    parser.add_argument("--cols", type=int, default=4096)
    parser.add_argument("--rows", type=int, default=65536, help="of the product with 1 and 4 columns")
    parser.add_argument("--rows-512", type=int, default=4096, help="of the product with 512 columns")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    library = Library(args.threads)
    kind = TYPES[args.type]
    pattern = quantized(library, kind, args.cols)
    rng = random.Random(2)
    activations = array("f", (rng.gauss(0, 1) for _ in range(8 * args.cols))) * 64
    answer = {"type": args.type, "cols": args.cols, "rows": args.rows, "rows_at_512": args.rows_512, "seconds": {},
              "file_row_bytes": len(pattern) // PATTERN_ROWS, "system": library.features()}
    for rows, columns in ((args.rows, (1, 4)), (args.rows_512, (512,))):
        weight = Weight(library, kind, args.cols, rows, pattern)
        answer["buffer"] = weight.placed
        for tokens in columns:
            product = Product(weight, activations, tokens)
            answer["seconds"][str(tokens)] = product.seconds()
            if tokens == 4:
                answer["nrmse"] = error_of(product, decoded(library, kind, args.cols, pattern), activations, args.cols)
            product.free()
        weight.free()
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
