"""Pages of the site that are not in docs/: the pages of the repository's root, one page for each
command (its help), and one for each configuration key (from the JSON Schema)."""

import json
import os
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
STET = os.environ.get("STET", str(ROOT / "bin" / "stet"))
OUTSIDE = {"README.md": "index.md"} | {
    name: name for name in ("DESIGN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")
}


def stet(*args):
    return subprocess.run([STET, *args], check=True, capture_output=True, text=True).stdout


def commands(*path):
    """Yield the names of the commands below path, as the shell completion lists them."""
    for line in stet("__complete", *path, "").splitlines():
        name = line.split("\t")[0]
        if "\t" in line and re.fullmatch(r"[a-z][a-z-]*", name) and name != "help":
            yield (*path, name)


def command_page(path):
    name = " ".join(("stet", *path))
    return f"# {name}\n\n```text\n{stet(*path, '--help').rstrip()}\n```\n"


def key_page(name, key):
    lines = [f"# {name}", "", key.get("description", ""), ""]
    lines.append(f"- type: {key.get('type', 'table')}")
    if "enum" in key:
        lines.append("- values: " + ", ".join(f"`{v}`" for v in key["enum"]))
    if "default" in key:
        lines.append(f"- default: `{json.dumps(key['default'])}`")
    lines.append(f"- variable: `STET_{name.upper().replace('-', '_')}`")
    return "\n".join(lines) + "\n\n[All keys](../configuration.md)\n"


def pages():
    for source, name in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        yield name, text.replace("](README.md", "](index.md")
    found = [c for top in commands() for c in (top, *(commands(*top) if has_commands(top) else ()))]
    rows = []
    for path in found:
        name = "-".join(path)
        rows.append(f"- [stet {' '.join(path)}]({name}.md)")
        yield f"commands/{name}.md", command_page(path)
    yield "commands/index.md", "# Commands\n\n" + "\n".join(rows) + "\n"
    keys = json.loads((ROOT / "docs" / "configuration.schema.json").read_text(encoding="utf-8"))["properties"]
    for name, key in keys.items():
        yield f"keys/{name}.md", key_page(name, key)
    yield "keys/index.md", "# Keys\n\n" + "\n".join(f"- [{n}]({n}.md)" for n in keys) + "\n"


def has_commands(path):
    return "Available Commands:" in stet(*path, "--help")


def on_files(files, config):
    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    return re.sub(r"\]\(\.\./(" + "|".join(map(re.escape, OUTSIDE)) + r")", lambda m: f"]({OUTSIDE[m[1]]}", markdown)
