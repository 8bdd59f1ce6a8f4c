/** Exit codes and examples of a command, which its help and the manual page print. */
import type { Command } from 'commander'

export interface Notes {
  /** Continues "Exit codes: ". */
  readonly exitCodes: string
  /** Without the name of the program. */
  readonly examples: readonly string[]
}

const notes = new WeakMap<Command, Notes>()

export function addNotes(command: Command, added: Notes): Command {
  notes.set(command, added)
  const examples = added.examples.map((example) => `  manager-edge ${example}`)
  return command.addHelpText('after', `\nExamples:\n${examples.join('\n')}\n\nExit codes: ${added.exitCodes}.`)
}

export function notesOf(command: Command): Notes | undefined {
  return notes.get(command)
}
