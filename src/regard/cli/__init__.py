"""The command line: one file a command, each imported only when it runs.

Exit codes: 0; 2 for usage and input that cannot be used, with one line on standard error;
130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from regard.errors import BackendError, InputError

COMMANDS: Final = {
    "show": "See what a word attends to, in a real model.",
    "capture": "Record what a model attends to in a long text, to look at later.",
    "spans": "Which parts of a prompt an answer reads, and what it loses without them.",
    "steps": "Work the four steps of attention through, number by number.",
    "info": "Versions, threads, the embedded model, what an extra would add.",
}
_HELP: Final = """See what self-attention does: exactly, with the numbers behind every picture.

\b
  regard show "A dog ate the food because it was hungry" --word it
  regard steps --example
  regard info
"""


class Commands(click.Group):
    """The commands by name, and what becomes of their errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"regard.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run, and exit with 0, 2 or 130. Every error is one line on standard error."""
        try:
            code = super().main(*args, **{"prog_name": "regard", **extra, "standalone_mode": False})
        except click.ClickException as error:
            _fail(_sentence(error))
        except (InputError, BackendError) as error:
            _fail(str(error))
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: click.ClickException) -> str:
    """Click's message, and where help is to be had if the usage was wrong."""
    said = error.format_message()
    said += "" if said.endswith((".", "?", "!")) else "."
    context = getattr(error, "ctx", None)
    return f"{said} See {context.command_path} --help." if context is not None else said


def _fail(message: str) -> NoReturn:
    from regard.views.terminal import Terminal

    terminal = Terminal.of(sys.stderr)
    sys.stderr.write(terminal.finish([f"regard: {terminal.line(message)}"]))
    sys.exit(2)


def _print_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from regard.cli.info import UNPACKED, installed_version

        click.echo(f"regard {installed_version('regard') or UNPACKED}")
        context.exit()


@click.group(
    name="regard",
    cls=Commands,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """The `regard` command; by itself it shows its help."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
