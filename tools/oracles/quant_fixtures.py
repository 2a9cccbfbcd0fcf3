#!/usr/bin/env python3
"""Writes tests/quant/fixtures/<format>.bin: random blocks and what the `gguf` package decodes them to.

Needs `pip install gguf numpy`. A file is kBlocks blocks of the format, then kBlocks FNV-1a 64 hashes (little-endian) of
the bytes of the float32 values of each block. Blocks whose values are not all finite are drawn again, for their bits
are nobody's promise; scales of all magnitudes and signs, subnormals included, stay.
"""
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

BLOCKS = 48
FORMATS = ("Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ4_NL "
           "IQ4_XS MXFP4 NVFP4 TQ1_0 TQ2_0 BF16").split()


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def decode(block: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    return dequantize(block.reshape(1, -1), kind).astype(np.float32)


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests" / "quant" / "fixtures"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240229)
    for name in FORMATS:
        kind = GGMLQuantizationType[name]
        block_bytes = GGML_QUANT_SIZES[kind][1]
        blocks, hashes = b"", []
        while len(hashes) < BLOCKS:
            block = rng.integers(0, 256, block_bytes, dtype=np.uint8)
            with np.errstate(all="ignore"):
                values = decode(block, kind)
            if np.isfinite(values).all():
                blocks += block.tobytes()
                hashes.append(fnv1a(values.astype("<f4").tobytes()))
        (folder / f"{name.lower()}.bin").write_bytes(blocks + np.array(hashes, dtype="<u8").tobytes())


if __name__ == "__main__":
    main()
