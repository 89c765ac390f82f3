"""Completion scripts for bash, zsh and fish, generated from the parser itself."""

from __future__ import annotations

import argparse

from attnlint.cli import build_parser


def script(shell: str) -> str:
    """The completion script of a shell."""
    commands = _commands()
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _commands() -> dict[str, list[argparse.Action]]:
    parser = build_parser()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {name: list(sub._actions) for name, sub in action.choices.items()}
    return {}


def _options(actions: list[argparse.Action]) -> list[str]:
    return sorted({option for action in actions for option in action.option_strings})


def _choices(actions: list[argparse.Action]) -> dict[str, list[str]]:
    return {option: [str(choice) for choice in action.choices] for action in actions if action.choices for option in action.option_strings}


def _bash(commands: dict[str, list[argparse.Action]]) -> str:
    lines = [
        '# attnlint completion for bash; add to ~/.bashrc:  eval "$(attnlint generate-shell-completion bash)"',
        "_attnlint() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}" words=""',
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current") $(compgen -f -- "$current"))',
        "        return",
        "    fi",
        f'    case "$command" in {"|".join(commands)}) ;; *) command=check ;; esac',
        '    case "$command $previous" in',
    ]
    for name, actions in commands.items():
        for option, choices in sorted(_choices(actions).items()):
            lines.append(f'        "{name} {option}") COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;')
    lines += ["    esac", '    case "$command" in']
    for name, actions in commands.items():
        positional = next((action for action in actions if not action.option_strings and action.choices), None)
        extra = [str(choice) for choice in positional.choices] if positional is not None and positional.choices else []
        lines.append(f'        {name}) words="{" ".join([*_options(actions), *extra])}" ;;')
    lines += [
        "    esac",
        '    case "$current" in',
        '        -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;',
        '        *) COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current")) ;;',
        "    esac",
        "}",
        "complete -o filenames -F _attnlint attnlint",
    ]
    return "\n".join(lines) + "\n"


def _zsh(commands: dict[str, list[argparse.Action]]) -> str:
    lines = [
        "#compdef attnlint",
        "# attnlint completion for zsh; save as _attnlint in a folder of $fpath",
        "_attnlint() {",
        "    local -a commands",
        f"    commands=({' '.join(commands)})",
        "    if (( CURRENT == 2 )); then",
        "        compadd -- $commands --help --version",
        "        _files",
        "        return",
        "    fi",
        "    case $words[2] in",
    ]
    for name, actions in commands.items():
        pattern = name if name != "check" else "check|*"
        if name != "check":
            lines += [
                f"        {pattern})",
                f"            compadd -- {' '.join(_options(actions))}",
                "            _files",
                "            ;;",
            ]
    lines += [
        "        *)",
        f"            compadd -- {' '.join(_options(commands['check']))}",
        "            _files",
        "            ;;",
        "    esac",
        "}",
    ]
    return "\n".join([*lines, '_attnlint "$@"']) + "\n"


def _fish(commands: dict[str, list[argparse.Action]]) -> str:
    lines = ["# attnlint completion for fish; save as ~/.config/fish/completions/attnlint.fish"]
    lines += [f"complete -c attnlint -n __fish_use_subcommand -a {name}" for name in commands]
    for name, actions in commands.items():
        for action in actions:
            for option in action.option_strings:
                flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                choices = f" -xa '{' '.join(map(str, action.choices))}'" if action.choices else ""
                text = (action.help or "").replace("%%", "%").replace("'", "\\'")
                described = f" -d '{text}'" if text and text != argparse.SUPPRESS else ""
                lines.append(f"complete -c attnlint -n '__fish_seen_subcommand_from {name}' {flag}{choices}{described}")
    return "\n".join(lines) + "\n"
