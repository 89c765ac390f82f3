"""Completion scripts for bash, zsh and fish, generated from the parser itself."""

from __future__ import annotations

import argparse

from attnlint.cli import build_parser, server_parser


def script(shell: str) -> str:
    """The completion script of a shell."""
    commands = _commands()
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _commands() -> dict[str, list[argparse.Action]]:
    from attnlint.confirm.command import parser as confirm_parser

    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            # Two commands parse their own arguments: what the command line knows of them is their names.
            own = {"confirm": confirm_parser(), "server": server_parser()}
            return {name: list((own.get(name) or sub)._actions) for name, sub in action.choices.items()}
    return {}


def options(command: str) -> list[str]:
    """Every option of a command."""
    return _options(_commands()[command])


def _options(actions: list[argparse.Action]) -> list[str]:
    return sorted({option for action in actions for option in action.option_strings})


def _positional(actions: list[argparse.Action]) -> list[str]:
    """The words that may stand without an option, where they are known."""
    return [str(choice) for action in actions if not action.option_strings and action.choices for choice in action.choices]


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
        lines.append(f'        {name}) words="{" ".join([*_options(actions), *_positional(actions)])}" ;;')
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
        "# attnlint completion for zsh; save as _attnlint in a folder of $fpath, or add to ~/.zshrc, after compinit:",
        '#   eval "$(attnlint generate-shell-completion zsh)"',
        "_attnlint() {",
        "    local -a commands",
        f"    commands=({' '.join(commands)})",
        "    if (( CURRENT == 2 )); then",
        "        compadd -- $commands --help --version",
        "        _files",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    (( ${commands[(Ie)$command]} )) || command=check",
        '    case "$command $words[CURRENT-1]" in',
    ]
    for name, actions in commands.items():
        for option, choices in sorted(_choices(actions).items()):
            lines.append(f'        "{name} {option}") compadd -- {" ".join(choices)}; return ;;')
    lines += ["    esac", "    case $command in"]
    for name, actions in commands.items():
        lines.append(f"        {name}) compadd -- {' '.join([*_options(actions), *_positional(actions)])} ;;")
    lines += [
        "    esac",
        "    _files",
        "}",
        # Loaded from $fpath the file is the function's body; evaluated, it only has to be made known.
        'if [ "$funcstack[1]" = "_attnlint" ]; then _attnlint "$@"; else compdef _attnlint attnlint; fi',
    ]
    return "\n".join(lines) + "\n"


def _fish(commands: dict[str, list[argparse.Action]]) -> str:
    lines = [
        "# attnlint completion for fish; save as ~/.config/fish/completions/attnlint.fish, or add to config.fish:",
        "#   attnlint generate-shell-completion fish | source",
    ]
    lines += [f"complete -c attnlint -n __fish_use_subcommand -a {name}" for name in commands]
    others = " ".join(name for name in commands if name != "check")
    for name, actions in commands.items():
        # What is no command is a path, and then `check` is meant.
        seen = f"__fish_seen_subcommand_from {name}" if name != "check" else f"not __fish_seen_subcommand_from {others}"
        lines += [f"complete -c attnlint -n '{seen}' -a {choice}" for choice in _positional(actions)]
        for action in actions:
            for option in action.option_strings:
                flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                choices = f" -xa '{' '.join(map(str, action.choices))}'" if action.choices else ""
                shown = action.help if action.help and action.help != argparse.SUPPRESS else ""
                text = (shown % vars(action)).replace("'", "\\'")
                described = f" -d '{text}'" if text else ""
                lines.append(f"complete -c attnlint -n '{seen}' {flag}{choices}{described}")
    return "\n".join(lines) + "\n"
