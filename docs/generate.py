"""Writes what of the documentation is derived: a page for every rule with its measured effect, their index, the settings, their schema,
and in the README the table of rules, the outputs and the picture.

`python docs/generate.py` writes the files, `python docs/generate.py --check` compares them and fails where one is out of date. Measuring
needs PyTorch and drawing needs rich: where one is missing, what is there stays, and standard error says so.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure
import picture

from attnlint.config import OPTIONS, Option
from attnlint.registry import RuleMeta, rules

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "<!-- Written by docs/generate.py from the rule's docstring; change it there. -->"
README = ROOT / "README.md"
SETTINGS_HEAD = """\
<!-- Written by docs/generate.py from attnlint/config.py; change it there. -->

# Settings

Settings stand in `[tool.attnlint]` of `pyproject.toml`, or in `attnlint.toml` or `.attnlint.toml` without that heading. For each file the
nearest one above it holds; they are not merged, unless one names another in `extend`. An unknown setting is an error that names it. The
command line goes before the files. [settings.schema.json](settings.schema.json) describes the same for editors.

```toml
[tool.attnlint]
extend-exclude = ["third_party"]
ignore = ["implicit-softmax-dim"]

[tool.attnlint.per-file-ignores]
"tests/**" = ["ATT2"]
```

"""
ATLAS = "<!-- Written by docs/generate.py from docs/census.json; change it there. -->"
EFFECT = "## Measured effect"
SEEN = "## In published code"
DRAWN = (
    "attnlint examples/model.py --select wrong-dim-scale",
    "attnlint examples/model.py --select wrong-dim-scale --diff --unsafe-fixes --quiet",
)
SHOWN = {
    "lint": ["check", "examples/model.py", "--select", "wrong-dim-scale", "--isolated", "--no-cache", "--color", "never"],
    "confirm": ["confirm", "examples/model.py::SelfAttention"],
}


def rule_page(rule: RuleMeta, census: dict[str, Any]) -> str:
    """The page of one rule: its docstring, what the fault does, and where it was met."""
    state = "off unless `preview` is on" if rule.preview else "on by default"
    suppress = f"`# attnlint: ignore[{rule.name}] why`"
    parts = [f"{GENERATED}\n\n# {rule.name} ({rule.code})\n\n*{state}; suppress with {suppress}*\n\n{rule.docs.strip()}"]
    if rule.code.startswith("ATT1"):
        parts.append(f"{EFFECT}\n{effect_of(rule)}")
    if not rule.code.startswith("ATT0"):
        parts.append(f"{SEEN}\n{seen(rule, census)}")
    return "\n\n".join(parts) + "\n"


def effect_of(rule: RuleMeta) -> str:
    """The table of a rule's measured effect: measured anew where that can be done here, else as it stands in the page."""
    if measure.available():
        return measure.table(rule)
    page = ROOT / "docs" / "rules" / f"{rule.name}.md"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    return before.partition(f"{EFFECT}\n")[2].partition("\n\n## ")[0].rstrip()


def seen(rule: RuleMeta, census: dict[str, Any]) -> str:
    """How often a fault was met in published packages, and one such place in words."""
    read = f"Of {census['places']} places in {census['packages']} published packages that were read by hand,"
    found = census["rules"].get(rule.name)
    if found is None:
        return f"{read} none was noted to have this fault."
    places = (
        "one has"
        if found["places"] == 1
        else f"{found['places']} (in {found['packages']} package{'s' if found['packages'] > 1 else ''}) have"
    )
    return f"{read} {places} this fault. {found['seen']}"


def rule_table(known: tuple[RuleMeta, ...], folder: str) -> str:
    """A table of the rules whose names link into `folder`."""
    rows = ["| code | name | what it does |", "| --- | --- | --- |"]
    for rule in known:
        preview = " (preview)" if rule.preview else ""
        rows.append(f"| {rule.code} | [{rule.name}]({folder}{rule.name}.md){preview} | {rule.summary.replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def setting_text(option: Option) -> str:
    """The section of one setting."""
    kinds = {
        "list": "list of strings",
        "flag": "true or false",
        "text": "string",
        "number": "integer",
        "table": "table of lists of strings",
        "choice": "one of " + ", ".join(f'"{choice}"' for choice in option.choices),
        "path": "path, relative to the configuration file",
    }
    default = "none" if option.default is None else json.dumps(option.default)
    by_variable = f" (or the environment variable `{option.variable}`)" if option.variable else ""
    kind = kinds[option.kind]
    if option.user_only:
        where = f"`--{option.name}`{by_variable} only: a configuration file may come with the code that is linted."
        kind = kind.partition(",")[0]
    elif option.file_only:
        where = "Configuration file only."
    else:
        where = f"Also `--{option.name}`{by_variable}."
    if option.is_written:
        where += " A configuration file may name only what lies in its own folder."
    return f"## `{option.name}`\n\n{option.help} {where}\n\n- Type: {kind}\n- Default: `{default}`\n"


def settings_page() -> str:
    """Every setting, with how configuration files are found."""
    return SETTINGS_HEAD + "\n".join(setting_text(option) for option in sorted(OPTIONS, key=lambda option: option.name))


def schema() -> str:
    """The JSON schema of the settings, as `attnlint config --schema` prints it."""
    return run(["config", "--schema"])


def run(arguments: list[str], folder: str | Path = ROOT, status: int | None = None) -> str:
    """What attnlint prints for these arguments in a folder. Raises RuntimeError where it could not do its work, or has another status."""
    command = [sys.executable, "-m", "attnlint", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=folder, check=False)
    if done.returncode not in ((0, 1) if status is None else (status,)):
        raise RuntimeError(f"attnlint {' '.join(arguments)} failed with {done.returncode}: {done.stderr}")
    return done.stdout


def between(text: str, name: str, content: str) -> str:
    """The text with what stands between the markers of `name` replaced. Raises ValueError where they are missing."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in text or end not in text:
        raise ValueError(f"put the lines `{begin}` and `{end}` where the generated part belongs")
    head, rest = text.split(begin, 1)
    return f"{head}{begin}\n{content.rstrip()}\n{end}{rest.split(end, 1)[1]}"


def readme(known: tuple[RuleMeta, ...], confirm: bool) -> str:
    """README with its table of rules and the outputs that it shows. The measured one needs PyTorch and is renewed only with `confirm`."""
    text = between(README.read_text(encoding="utf-8"), "rules", f"\n{rule_table(known, 'docs/rules/')}\n")
    for name, arguments in SHOWN.items():
        if name != "confirm" or confirm:
            text = between(text, name, f"```text\n{run(arguments).rstrip()}\n```")
    return between(text, "figures", figures()) if confirm else text


def figures() -> str:
    """The measurement that README shows, as a table of the figures that matter most."""
    (found,) = json.loads(run([*SHOWN["confirm"], "--output-format", "json"]))
    before, after = found["confirmation"]["before"], found["confirmation"]["after"]
    rows = [
        ("scale that softmax sees, over `1/√d_k` (1 is right)", "ratio", "{:.4g}"),
        ("mean largest weight of a row", "max_weight", "{:.2g}"),
        ("entropy of a row, over that of even weights", "entropy", "{:.2g}"),
        ("largest error of a weight, against float64", "reference_error", "{:.0e}"),
    ]
    lines = ["| | as written | repaired |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {label} | {form.format(before[key])} | {form.format(after[key])} |" for label, key, form in rows])


def terminal(command: str) -> str:
    """What a command that the picture shows prints on a terminal."""
    _, *arguments = shlex.split(command)
    return run([*arguments, "--isolated", "--no-cache", "--color", "always"])


def probe_page() -> str:
    """The page of the probe with what its first program prints."""
    page = (ROOT / "docs" / "probe.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "model.py"
        path.write_text(program, encoding="utf-8")
        command = [sys.executable, path.name]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=path.parent, check=True)
        shown = done.stdout.replace(f"{path.parent}/", "")
    return between(page, "fault", f"```text\n{shown.rstrip()}\n```")


STEPS = {
    "check": (("model.py",), 1),
    "confirm": (("confirm", "model.py"), 1),
    "diff": (("model.py", "--diff", "--unsafe-fixes"), 1),
    "fix": (("model.py", "--fix", "--unsafe-fixes", "--quiet"), 0),
    "clean": (("model.py",), 0),
}


def tutorial(measured: bool) -> str:
    """The tutorial with what its commands print, one after the other; the one that measures is renewed only with `measured`."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.py").write_text(program, encoding="utf-8")
        for name, (arguments, status) in STEPS.items():
            if name == "confirm" and not measured:
                continue
            shown = run(list(arguments), folder, status).rstrip()
            if name != "fix":
                page = between(page, f"tutorial-{name}", f"```{'diff' if name == 'diff' else 'text'}\n{shown}\n```")
    return page


def atlas(known: tuple[RuleMeta, ...], census: dict[str, Any]) -> str:
    """What was met of each fault in published packages, the most frequent first."""
    met = sorted((rule for rule in known if rule.name in census["rules"]), key=lambda rule: -census["rules"][rule.name]["places"])
    rows = ["| rule | places | packages |", "| --- | --- | --- |"]
    sections = []
    for rule in met:
        found = census["rules"][rule.name]
        rows.append(f"| [{rule.name}](rules/{rule.name}.md) | {found['places']} | {found['packages']} |")
        sections.append(f"## {rule.name}\n\n{rule.summary}\n\n{found['seen']}\n")
    head = (
        f"{ATLAS}\n\n# Atlas of faults\n\n"
        f"Attention in {census['packages']} published packages, read and judged by hand at {census['places']} places (a place is a "
        "softmax or a call of a fused kernel): at how many of them each fault was noted, and one of them in words. "
        "A place can have several faults."
    )
    return f"{head}\n\n" + "\n".join(rows) + "\n\n" + "\n".join(sections)


def pages(confirm: bool = False) -> dict[Path, str]:
    """Every generated file with what belongs in it. attnlint's own rules only, whatever else is installed."""
    known = tuple(rule for rule in rules() if rule.code.startswith("ATT"))
    docs = ROOT / "docs"
    census = json.loads((docs / "census.json").read_text(encoding="utf-8"))
    drawn = {docs / "terminal.svg": picture.draw(DRAWN, terminal)} if picture.available() else {}
    index = f"{GENERATED}\n\n# Rules\n\n{rule_table(known, '')}"
    return {
        **{docs / "rules" / f"{rule.name}.md": rule_page(rule, census) for rule in known},
        docs / "rules" / "index.md": index,
        docs / "atlas.md": atlas(known, census),
        docs / "tutorial.md": tutorial(confirm),
        docs / "settings.md": settings_page(),
        docs / "settings.schema.json": schema(),
        README: readme(known, confirm),
        **drawn,
        **({docs / "probe.md": probe_page()} if confirm else {}),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write or check. Returns 1 where `--check` finds a file out of date."""
    parser = argparse.ArgumentParser(description="Writes the generated documentation.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--confirm", action="store_true", help="also run what README and docs/probe.md show measured (needs PyTorch)")
    options = parser.parse_args(arguments)
    check = options.check
    for module, package in ((measure, "PyTorch and NumPy"), (picture, "rich")):
        if not module.available():
            print(f"docs/generate.py: {package} not installed; what docs/{module.__name__}.py makes stays as it is", file=sys.stderr)
    wanted = pages(confirm=options.confirm)
    stale = [path for path in sorted((ROOT / "docs" / "rules").glob("*.md")) if path not in wanted]
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
    for path in stale:
        if not check and path not in wanted:
            path.unlink()
        done = "out of date; run `python docs/generate.py`" if check else "written" if path in wanted else "removed"
        print(f"{path.relative_to(ROOT)}: {done}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
