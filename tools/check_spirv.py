#!/usr/bin/env python3
"""spirv-val over every shader of a build: check_spirv.py [BUILD_FOLDER] (default build/release).

The modules are read from the headers that the build embeds. The validator must know cooperative matrices: ./dev setup brings
one where the system's is older.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

PREFIX = pathlib.Path.home() / ".cache/brass/spirv-tools/cmeel.prefix"
FLAGS = ["--target-env", "vulkan1.3"]


def validator():
    own = PREFIX / "bin/spirv-val"
    return str(own) if own.exists() else "spirv-val"


def words_of(header):
    words = [int(word, 16) for word in re.findall(r"0x[0-9a-fA-F]{8}", header.read_text())]
    if not words or words[0] != 0x07230203:
        raise SystemExit(f"{header}: holds no SPIR-V")
    return struct.pack(f"<{len(words)}I", *words)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    headers = sorted((build / "src/backend/vulkan").glob("*.spv.h"))
    if not headers:
        raise SystemExit(f"{build}: no shaders were built there")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(PREFIX / "lib"))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(folder) / "module.spv"
        for header in headers:
            module.write_bytes(words_of(header))
            done = subprocess.run([validator(), *FLAGS, str(module)], capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                wrong += 1
                print(f"{header.name.removesuffix('.spv.h')}: {done.stdout.strip()}{done.stderr.strip()}")
    print(f"spirv-val: {len(headers)} modules, {wrong} not valid")
    return 1 if wrong else 0


sys.exit(main())
