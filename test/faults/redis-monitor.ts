/** Records commands with MONITOR over a plain socket: under load ioredis takes its first lines for replies. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

export interface RecordedCommand {
  /** Name in lower case, then arguments. Bytes beyond ASCII stay escaped. */
  readonly words: readonly string[]
  /** A script called it. */
  readonly isFromScript: boolean
}

const LINE = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/
const WORD = /"((?:[^"\\]|\\.)*)"/g
/** Wait for the last lines. */
const GRACE_MS = 100

/** Returns all commands that Redis receives while `run` runs. */
export async function recordCommands(port: number, run: () => Promise<unknown>): Promise<RecordedCommand[]> {
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface({ input: socket })
  const recorded: RecordedCommand[] = []
  const listening = once(lines, 'line')
  socket.write('MONITOR\r\n')
  await listening
  lines.on('line', (line) => {
    const [, from, text = ''] = LINE.exec(line) ?? []
    const [name = '', ...rest] = [...text.matchAll(WORD)].map(([, word = '']) => word)
    recorded.push({ words: [name.toLowerCase(), ...rest], isFromScript: from === 'lua' })
  })
  await run()
  await wait(GRACE_MS)
  socket.destroy()
  return recorded
}
