"""`heddle completion`: scripts that let a shell complete verbs, options and their values, made from the parser."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from shim.cli.grammar import Parameter, Verb, grammar_of


class Shell(StrEnum):
    """A shell that can be told how to complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: typer.Context,
    shell: Annotated[Shell, typer.Argument(help="Whose script", metavar="SHELL", show_choices=True)],
) -> None:
    """Print a script by which a shell completes `heddle`.

    Verbs, options, and values that are files or one of a few. It is made from this version: print it again after an
    upgrade.

        heddle completion bash > /etc/bash_completion.d/heddle
        heddle completion zsh > ~/.zfunc/_heddle
        heddle completion fish > ~/.config/fish/completions/heddle.fish

    `~/.zfunc` stands for any folder of zsh's fpath.
    """
    typer.echo(script(shell, grammar_of(context.find_root().command)), nl=False)


def script(shell: Shell, verbs: Sequence[Verb]) -> str:
    """Return the script of one shell for all verbs, the root among them."""
    return "\n".join((*_WRITERS[shell](verbs), ""))


def _quoted(text: str) -> str:
    """Text as one word of bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _below(verbs: Sequence[Verb]) -> Iterator[tuple[Verb, list[Verb]]]:
    """Yield each verb with those directly below it."""
    for verb in verbs:
        yield verb, [each for each in verbs if each.path[:-1] == verb.path and each.path]


def _patterns(verb: Verb, option: Parameter) -> str:
    return "|".join(_quoted(" ".join((*verb.path, name))) for name in option.names)


def _walk_of(verbs: Sequence[Verb], words: str, before: str) -> Iterator[str]:
    """Yield the loop that finds the verb in the words of the line; bash and zsh understand it alike."""
    yield f"    for word in {words}; do"
    yield f'        case "{before}" in'
    yield "            " + "|".join(_quoted(" ".join(verb.path)) for verb in verbs if verb.path) + ")"
    yield f'                at="{before}" ;;'
    yield "        esac"
    yield "    done"


def _values(verbs: Sequence[Verb], files: str, chosen: Callable[[Parameter], str]) -> Iterator[str]:
    """Yield the cases of options whose value is being written."""
    for verb in verbs:
        for option in verb.options:
            if not option.is_flag:
                kind = chosen(option) if option.choices else files if option.is_file else "return"
                yield f"        {_patterns(verb, option)}) {kind} ;;"


def _bash(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "# bash completion of heddle; made by `heddle completion bash`"
    yield "_heddle() {"
    yield '    local at="" word current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield "    COMPREPLY=()"
    yield from _walk_of(verbs, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"', "${at:+$at }$word")
    yield '    case "${at:+$at }$previous" in'
    files = 'COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null; return'
    yield from _values(
        verbs, files, lambda option: f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current")); return'
    )
    yield "    esac"
    yield '    case "$at" in'
    for verb, below in _below(verbs):
        names = [name for option in verb.options for name in option.names]
        choices = [choice for argument in verb.arguments for choice in argument.choices]
        words = " ".join((*(each.path[-1] for each in below), *choices, *names))
        yield f'        {_quoted(" ".join(verb.path))}) words="{words}" ;;'
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield '    case "$at" in'
    with_files = [verb for verb in verbs if any(argument.is_file for argument in verb.arguments)]
    yield "        " + "|".join(_quoted(" ".join(verb.path)) for verb in with_files) + ")"
    yield '            COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;'
    yield "    esac"
    yield "}"
    yield "complete -F _heddle heddle"


def _described(word: str, about: str) -> str:
    return _quoted(f"{word.replace(':', chr(92) + ':')}:{about}")


def _zsh(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "#compdef heddle"
    yield "# zsh completion of heddle; made by `heddle completion zsh`"
    yield "_heddle() {"
    yield '    local at="" word previous="${words[CURRENT-1]}"'
    yield "    local -a verbs options"
    yield from _walk_of(verbs, '"${(@)words[2,CURRENT-1]}"', "${at:+$at }$word")
    yield '    case "${at:+$at }$previous" in'
    yield from _values(verbs, "_files; return", lambda option: f"compadd -- {' '.join(option.choices)}; return")
    yield "    esac"
    yield '    case "$at" in'
    for verb, below in _below(verbs):
        yield f"        {_quoted(' '.join(verb.path))})"
        names = [(each.path[-1], each.summary) for each in below]
        names += [(choice, argument.about) for argument in verb.arguments for choice in argument.choices]
        yield f"            verbs=({' '.join(_described(*name) for name in names)})"
        options = [(name, option.about) for option in verb.options for name in option.names]
        yield f"            options=({' '.join(_described(*option) for option in options)})"
        if any(argument.is_file for argument in verb.arguments):
            yield "            _files"
        yield "            ;;"
    yield "    esac"
    yield "    (( $#verbs )) && _describe -t commands verb verbs"
    yield "    _describe -o -t options option options"
    yield "}"
    # read by autoload it is the body of the function itself; sourced it has to be named
    yield 'if [ "$funcstack[1]" = "_heddle" ]; then _heddle "$@"; else compdef _heddle heddle; fi'


def _fish(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "# fish completion of heddle; made by `heddle completion fish`"
    yield "function __heddle_at"
    yield "    set -l at"
    yield "    for word in (commandline -opc)[2..-1]"
    yield "        switch (string join ' ' -- $at $word)"
    yield "            case " + " ".join(_quoted_for_fish(" ".join(verb.path)) for verb in verbs if verb.path)
    yield "                set -a at $word"
    yield "        end"
    yield "    end"
    yield '    test "$at" = "$argv"'
    yield "end"
    yield "complete -c heddle -f"
    for verb, below in _below(verbs):
        here = f"complete -c heddle -n {_quoted_for_fish(' '.join(('__heddle_at', *verb.path)))}"
        for each in below:
            yield f"{here} -a {each.path[-1]} -d {_quoted_for_fish(each.summary)}"
        for argument in verb.arguments:
            for choice in argument.choices:
                yield f"{here} -a {choice} -d {_quoted_for_fish(argument.about)}"
            if argument.is_file:
                yield f"{here} -F"
        for option in verb.options:
            yield f"{here} {_fish_option(option)}"


def _fish_option(option: Parameter) -> str:
    names = (f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = (
        f"-x -a {_quoted_for_fish(' '.join(option.choices))}" if option.choices else "-r -F" if option.is_file else "-x"
    )
    return " ".join((*names, *(() if option.is_flag else (value,)), "-d", _quoted_for_fish(option.about)))


def _quoted_for_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS: dict[Shell, Callable[[Sequence[Verb]], Iterator[str]]] = {
    Shell.BASH: _bash,
    Shell.ZSH: _zsh,
    Shell.FISH: _fish,
}
