/** The manual page of the program, generated from its commands (man(7) macros). */
import type { Command } from 'commander'
import { notes } from '../../../../src/cli/help.ts'

/** Returns the manual page of a program in section 1. It has no date, so that equal sources give equal packages. */
export function manualPage(program: Command): string {
  const name = program.name()
  const help = program.createHelp()
  const visible = help.visibleCommands(program).filter((each) => each.name() !== 'help')
  return [
    `.TH ${name.toUpperCase()} 1 "" "${name} ${program.version()?.split(' ')[0] ?? ''}" "User Commands"`,
    '.SH NAME',
    `${roff(name)} \\- ${roff(program.description())}`,
    '.SH SYNOPSIS',
    ...visible
      .flatMap((each) => leavesOf(each))
      .map(({ path }) => `.B ${roff(`${name} ${path}`)}\n.RI [ options ]\n.br`),
    '.SH COMMANDS',
    ...visible.flatMap((each) => leavesOf(each)).flatMap(({ path, command }) => commandSection(path, command)),
    '.SH FILES',
    '.TP\n.I /etc/manager\\-edge/edge.yaml\nThe configuration of the Debian package.',
    '.SH SEE ALSO',
    'The documents of the package, which begin with README.md.',
    '',
  ].join('\n')
}

/** Returns the commands without subcommands, with their path such as `user add`. */
function leavesOf(command: Command, parent = ''): { readonly path: string; readonly command: Command }[] {
  const path = `${parent}${command.name()}`
  const commands = command.commands.filter((each) => each.name() !== 'help')
  return commands.length === 0 ? [{ path, command }] : commands.flatMap((each) => leavesOf(each, `${path} `))
}

function commandSection(path: string, command: Command): string[] {
  const help = command.createHelp()
  const arguments_ = command.registeredArguments.map((each) => ` <${each.name()}>${each.variadic ? '...' : ''}`)
  const options = help.visibleOptions(command).filter((each) => each.long !== '--help')
  return [
    `.SS ${roff(path + arguments_.join(''))}`,
    roff(sentence(command.description())),
    ...options.map((each) => `.TP\n.B ${roff(each.flags)}\n${roff(sentence(help.optionDescription(each)))}`),
    ...notesSection(command),
  ]
}

function notesSection(command: Command): string[] {
  const { exitCodes, examples = [] } = notes.get(command) ?? {}
  if (exitCodes === undefined) return []
  const lines = examples.map((example) => `${roff(`manager-edge ${example}`)}\n.br`)
  return ['.PP\nExamples:', '.RS', ...lines, '.RE', `.PP\n${roff(`Exit codes: ${exitCodes}.`)}`]
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** Escapes what has a meaning for troff: backslash, hyphen, and a dot or apostrophe at the start of a line. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
}
