/**
 * Runs commands of the built program in this process, one after the other: loading the modules takes most of the CPU time
 * of a command. A command ends when nothing keeps its process alive, as a process does.
 */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'

/** A message to the host. */
export interface CommandToRun {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Standard input. */
  readonly input: string
}

/** A message of the host. */
export interface EndOfCommand {
  readonly code: number
  readonly out: string
  readonly err: string
  /** False if the command has left listeners of the process behind. */
  readonly isReusable: boolean
}

const program = new URL('../../../dist/program/cli.js', import.meta.url)
let count = 0

function replaceStream(name: 'stdin' | 'stdout' | 'stderr'): PassThrough {
  const stream = new PassThrough()
  Object.defineProperty(process, name, { value: stream, configurable: true })
  return stream
}

/** Those of `exit` stay until this process ends: the log of an edge that `check` builds has one. */
function listeners(): string {
  return process
    .eventNames()
    .filter((name) => name !== 'exit')
    .map((name) => `${String(name)} ${process.listenerCount(name)}`)
    .join()
}

async function run({ args, env, input }: CommandToRun): Promise<void> {
  const before = listeners()
  process.env = env
  process.argv = [process.execPath, program.pathname, ...args]
  process.exitCode = undefined
  replaceStream('stdin').end(input)
  const streams = [replaceStream('stdout'), replaceStream('stderr')]
  const texts = Promise.all(streams.map((stream) => text(stream)))
  const ended = new Promise((resolve) => process.once('beforeExit', resolve))
  process.channel?.unref()
  // The entry runs once more; the modules that it imports are loaded.
  count += 1
  await import(`${program}?run=${count}`)
  await ended
  process.channel?.ref()
  for (const stream of streams) stream.end()
  const [out = '', err = ''] = await texts
  const end: EndOfCommand = { code: Number(process.exitCode ?? 0), out, err, isReusable: listeners() === before }
  process.send?.(end)
}

process.on('message', (command: CommandToRun) => void run(command))
process.on('disconnect', () => process.exit())
