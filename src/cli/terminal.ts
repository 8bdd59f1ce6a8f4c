/** Input and output of the commands. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { InvalidArgumentError } from 'commander'
import type { LoadResult } from '../config/index.ts'
import type { Config } from '../config/schema.ts'
import { weaknessOf } from '../config/weak-passwords.ts'
import { EXIT_CODES } from '../server/exit.ts'

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A mistake of the user: one line with a remedy. The exit code is 1, or 2 for wrong configuration or usage. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT_CODES.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Returns a parser for an integer option. It throws an error that names the bounds. */
export function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Use an integer from ${min} to ${max}.`)
  }
}

export const NO_FILE = 'no configuration file was read; name one with --config or EDGE_CONFIG'

export async function loadCommandConfig(file: string | undefined): Promise<Config> {
  return (await loadWithOrigins(file)).config
}

/** Loads the configuration and prints warnings. Throws all faults, one line each; the first one may be that no file was read. */
export async function loadWithOrigins(file: string | undefined): Promise<Extract<LoadResult, { ok: true }>> {
  // Loaded here, so that commands without a configuration start without the YAML parser and the validator.
  const { loadConfig } = await import('../config/index.ts')
  const loaded = await loadConfig({ file })
  if (!loaded.ok && loaded.file === undefined) printError(NO_FILE)
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'), EXIT_CODES.configuration)
  for (const warning of loaded.warnings) printError(`warning: ${warning}`)
  const weakness = weaknessOf(loaded.config.cluster.credentials)
  if (weakness !== undefined) printError(`warning: cluster.credentials: ${weakness}`)
  return loaded
}

/**
 * Prompts for a new password, twice and without echo, or reads the first line of standard input. A password is never
 * an argument, because every user of the machine can read arguments in the list of processes.
 */
export async function promptNewPassword(): Promise<string> {
  if (!process.stdin.isTTY) return readFirstLine()
  const first = await promptHidden('Password: ')
  if ((await promptHidden('Repeat password: ')) !== first) throw new CommandError('the passwords differ; try again')
  return first
}

/** Prompts for an existing password, once. */
export function promptPassword(): Promise<string> {
  return process.stdin.isTTY ? promptHidden('Password: ') : readFirstLine()
}

async function readFirstLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line
  throw new CommandError('standard input has no password; write it there, or use a terminal')
}

function promptHidden(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write(question)
  return new Promise<string>((resolve, reject) => {
    prompt.once('SIGINT', () => reject(new CommandError('cancelled; nothing was changed')))
    prompt.question('', resolve)
  }).finally(() => {
    prompt.close()
    process.stderr.write('\n')
  })
}
