/** Exit codes and examples in the help of commands. */
import type { Command } from 'commander'

export interface Notes {
  /** Continues "Exit codes: ". */
  readonly exitCodes: string
  /** Without the name of the program. */
  readonly examples: readonly string[]
}

/** For the manual page. */
export const notes = new WeakMap<Command, Notes>()

export function addNotes(command: Command, added: Notes): Command {
  notes.set(command, added)
  const examples = added.examples.map((example) => `  manager-edge ${example}`)
  return command.addHelpText('after', `\nExamples:\n${examples.join('\n')}\n\nExit codes: ${added.exitCodes}.`)
}
