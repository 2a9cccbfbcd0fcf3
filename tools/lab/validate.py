#!/usr/bin/env python3
"""Vulkan's validation layers, synchronization validation with them, over tests of GPUs: fails on any message but listed ones.

    validate.py RUNNER… -- TEST_PROGRAM [FLAGS…]     RUNNER: "tools/lab.sh validate", or nothing for this system's layers

Memory goes by address, so what two dispatches do to the same bytes stays unseen here: hazards are proved by the plan's checker and
by runs with a barrier everywhere (VulkanEngine.*).
"""

import os
import pathlib
import re
import subprocess
import sys

# Message, without what layers of different years write before it → why it may stay.
ALLOWED = {"cache-file-error": "the layer's own cache of shaders is not there at its first run"}
YEAR = re.compile("^(UNASSIGNED|WARNING|INFO)-")

# As layers of different years say that they are there.
ACTIVE = {"CURRENT-VALIDATION-ENABLED", "khronos-validation-createinstance-status-message", "CreateInstance-status-message"}


def main():
    words = sys.argv[1:]
    if "--" not in words or words[-1] == "--":
        sys.exit(__doc__)
    at = words.index("--")
    runner, command = words[:at], words[at + 1:]
    environment = dict(os.environ)
    if not runner:
        settings = pathlib.Path(__file__).parent / "vk_layer_settings.txt"
        environment.update(VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation", VK_LAYER_SETTINGS_PATH=str(settings),
                           VK_LAYER_ENABLES="VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT")
    done = subprocess.run([*runner, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    found = {}
    for match in re.finditer(r"^(?:Validation \w+|\w+-\w+)[^\n]*?\[ ([^\]]+) \][^\n]*\n?[^\n]*", done.stdout, re.M):
        found.setdefault(YEAR.sub("", match[1].strip()), match[0])
    active = ACTIVE & found.keys()
    for name in ACTIVE:
        found.pop(name, None)
    wrong = {name: text for name, text in found.items() if name not in ALLOWED}
    for text in wrong.values():
        print(text)
    passed = re.findall(r"\[  PASSED  \] (\d+) test", done.stdout)
    if done.returncode != 0 or not passed or passed == ["0"]:
        print(done.stdout[-3000:])
    if not active:
        print("the validation layer did not say that it is active")
    ran = passed[0] if passed else 0
    print(f"validation: {ran} tests, exit {done.returncode}, {len(wrong)} kinds of messages"
          f"{f', {len(found) - len(wrong)} that are listed' if len(found) > len(wrong) else ''}")
    return 0 if active and not wrong and done.returncode == 0 and passed and passed != ["0"] else 1


sys.exit(main())
