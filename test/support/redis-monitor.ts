/** Records commands with MONITOR over a plain socket: under load ioredis takes its first lines for replies. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { eventually } from './eventually.ts'

export interface RecordedCommand {
  /** Name in lower case, then arguments. Bytes beyond ASCII stay escaped. */
  readonly words: readonly string[]
  /** A script called it. */
  readonly isFromScript: boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** Address of the client. */
  readonly from: string
}

const LINE = /^\+([\d.]+) \[\d+ (\S+)\] (.*)$/
const WORD = /"((?:[^"\\]|\\.)*)"/g
const END_MARKER = 'end-of-recording'

/**
 * Returns all commands that Redis executes while `run` runs. `run` gets the commands so far, to wait for those that a
 * replica sends after its response.
 */
export async function recordCommands(
  port: number,
  run: (commands: readonly RecordedCommand[]) => Promise<unknown>,
): Promise<RecordedCommand[]> {
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface({ input: socket })
  const recorded: RecordedCommand[] = []
  const listening = once(lines, 'line')
  socket.write('MONITOR\r\n')
  await listening
  lines.on('line', (line) => {
    const [, seconds, from = '', text = ''] = LINE.exec(line) ?? []
    const [name = '', ...rest] = [...text.matchAll(WORD)].map(([, word = '']) => word)
    recorded.push({
      words: [name.toLowerCase(), ...rest],
      isFromScript: from === 'lua',
      at: Number(seconds) * 1000,
      from,
    })
  })
  await run(recorded)
  // Redis reports commands in the order of execution, so nothing is missing in front of this one.
  const marking = connect(port, '127.0.0.1')
  marking.write(`ECHO ${END_MARKER}\r\n`)
  const end = () => recorded.findIndex(({ words }) => words[1] === END_MARKER)
  await eventually(() => end() >= 0)
  marking.destroy()
  socket.destroy()
  return recorded.slice(0, end())
}
