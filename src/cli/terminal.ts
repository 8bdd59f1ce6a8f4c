import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Config } from '../config/index.ts'
import { exitCodes } from '../server/exit.ts'

/** What the commands say and ask. */

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function complain(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A mistake of the one who called: one line that says what to do. `exitCode`: 1, or 2 for wrong settings and usage. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * A password: typed twice, without being shown, or the first line of standard input. Never an argument, which
 * every user of the machine could read in the list of processes.
 */
export async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) return firstLine()
  const first = await askHidden('Password: ')
  if ((await askHidden('Once more: ')) !== first) throw new CommandError('the two passwords differ; try again')
  return first
}

/** A password that somebody else keeps: typed once. */
export function askKnownPassword(): Promise<string> {
  return process.stdin.isTTY ? askHidden('Password: ') : firstLine()
}

async function firstLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line
  throw new CommandError('standard input holds no password; write it there, or call from a terminal')
}

function askHidden(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write(question)
  return new Promise((resolve, reject) => {
    prompt.once('SIGINT', () => reject(new CommandError('nothing was changed')))
    prompt.question('', resolve)
  }).finally(() => {
    prompt.close()
    process.stderr.write('\n')
  }) as Promise<string>
}

/** What stands in a file that an option names. */
export async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new CommandError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}); name a readable file`)
  }
}

/** The settings that a command works with; all their faults at once, one line each, when there are any. */
export async function settingsFrom(file: string | undefined): Promise<Config> {
  // Loaded here: commands that read no settings start faster without the YAML parser and the validator.
  const { loadConfig } = await import('../config/index.ts')
  const loaded = await loadConfig({ file })
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'), exitCodes.settings)
  return loaded.config
}
