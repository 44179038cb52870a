"""``gpucodegen completion``: prints a shell completion script.

``source <(gpucodegen completion bash)``, or with ``zsh``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

SHELLS = ("bash", "zsh")
SCRIPT = """\
_gpucodegen() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$word" in -*) ;; *) words="" ;; esac
  fi
  [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _gpucodegen gpucodegen
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(options: argparse.Namespace) -> int:
    parsers: Mapping[str, argparse.ArgumentParser] = options.parsers
    words = {name: flags(parser) for name, parser in parsers.items()}
    print((ZSH if options.shell == "zsh" else "") + script(words), end="")
    return 0


def flags(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a command, from its parser.

    >>> made = argparse.ArgumentParser(add_help=False)
    >>> _ = made.add_argument("--arch", "-a")
    >>> flags(made)
    ['--arch', '-a']
    """
    actions = parser._actions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return [flag for action in actions for flag in action.option_strings]


def script(words: Mapping[str, Sequence[str]]) -> str:
    """A function of bash: commands first, then the options of the command.

    >>> print(script({"opt": ["-p", "-h"]}).splitlines()[7])
          opt) words="-p -h" ;;
    """
    cases = [f'      {name}) words="{" ".join(of)}" ;;' for name, of in words.items()]
    return SCRIPT.format(commands=" ".join(words), cases="\n".join(cases))
