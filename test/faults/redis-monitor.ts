/** What Redis is told, by MONITOR over a plain socket: under load a client library mistakes the first lines for replies. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

export interface Told {
  /** Name in lower case, then arguments; bytes beyond ASCII stay escaped. */
  readonly words: readonly string[]
  /** Called by a script, not sent. */
  readonly inside: boolean
}

const LINE = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/
const WORD = /"((?:[^"\\]|\\.)*)"/g
/** For what is still on its way. */
const LATE = 100

/** All commands that arrive while `run` runs. */
export async function monitored(port: number, run: () => Promise<unknown>): Promise<Told[]> {
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface({ input: socket })
  const told: Told[] = []
  const listening = once(lines, 'line')
  socket.write('MONITOR\r\n')
  await listening
  lines.on('line', (line) => {
    const [, from, text = ''] = LINE.exec(line) ?? []
    const [name = '', ...rest] = [...text.matchAll(WORD)].map(([, word = '']) => word)
    told.push({ words: [name.toLowerCase(), ...rest], inside: from === 'lua' })
  })
  await run()
  await wait(LATE)
  socket.destroy()
  return told
}
