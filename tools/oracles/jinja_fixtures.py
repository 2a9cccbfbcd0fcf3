#!/usr/bin/env python3
"""Writes what Jinja2 makes of chat templates × conversations, for the test suite.

    jinja_fixtures.py TEMPLATES_DIR FIXTURES_DIR

FIXTURES_DIR/chat_conversations.json: the conversations. FIXTURES_DIR/chat_renders.json: for each template, there and in
FIXTURES_DIR/templates (written for corners of the language, in the manner of published ones), the
FNV-1a hashes of its outputs in that order, or "error". Needs Jinja2 (PyPI).
"""

import copy
import json
import pathlib
import sys

import jinja_conversations
import jinja_env


def fnv1a(text):
    value = 14695981039346656037
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def main():
    templates, fixtures = map(pathlib.Path, sys.argv[1:3])
    contexts = [jinja_conversations.context(messages, more) for _, messages, more in jinja_conversations.CONVERSATIONS]
    names = [name for name, _, _ in jinja_conversations.CONVERSATIONS]
    renders = {}
    for path in sorted(templates.glob("*.jinja")) + sorted((fixtures / "templates").glob("*.jinja")):
        results = [jinja_env.render(path.read_text(), copy.deepcopy(context))[0] for context in contexts]
        renders[path.name] = ["error" if text is None else fnv1a(text) for text in results]
    conversations = [{"name": name, "context": context} for name, context in zip(names, contexts)]
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in conversations)
    (fixtures / "chat_conversations.json").write_text(f"[\n{lines}\n]\n")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(hashes)}" for name, hashes in renders.items())
    (fixtures / "chat_renders.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"{len(renders)} templates, {len(names)} conversations, "
          f"{sum(h == 'error' for hashes in renders.values() for h in hashes)} errors")


if __name__ == "__main__":
    main()
