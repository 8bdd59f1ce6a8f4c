/** Clients that send a request and leave before its response. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { check, type Operation, type Violation } from '../coherence/history.ts'
import { authorization } from '../coherence/processes.ts'
import type { Random } from '../coherence/random.ts'
import { checkWrites, type WriteLog } from '../coherence/write-log.ts'

/** `close`: the client sends a FIN and reads nothing more. `halfClose`: it sends a FIN and reads the response. */
const WAYS = ['reset', 'close', 'halfClose'] as const

/** Registers that the checked history has too, so that its clients share fetches with clients that leave. */
const SHARED_REGISTERS = 8
/** The other registers are of clients that leave only. */
const FIRST_OWN = 2_000
const OWN_REGISTERS = 7_000
const WRITES = 0.1
/** A client that half-closes gives up after this time. */
const PATIENCE_MS = 10_000

export interface Departures {
  readonly ports: readonly number[]
  readonly clients: number
  /** Milliseconds until the clients leave; each of them by then. */
  readonly within: number
  readonly random: Random
  /** No client leaves before the response. */
  readonly stay?: boolean
}

let writes = 0

/** Resolves when all clients have left, those that half-close with their FIN. Returns the paths that only they use. */
export async function leaveAll(departures: Departures): Promise<readonly string[]> {
  const { random, clients } = departures
  const lines = Array.from({ length: clients }, () => drawLine(random))
  await Promise.all(lines.map((line) => leave(line, departures)))
  return lines.filter((line) => /^GET \/agents\/\d{4}$/.test(line)).map((line) => line.slice('GET '.length))
}

function drawLine(random: Random): string {
  const own = FIRST_OWN + random.below(OWN_REGISTERS)
  if (random.chance(WRITES)) {
    writes += 1
    return `PUT /agents/${own}/group/left${writes}`
  }
  if (random.chance(0.5)) return `GET /agents/${own}`
  return `GET /agents/00${1 + random.below(SHARED_REGISTERS)}`
}

async function leave(line: string, { ports, random, within, stay }: Departures): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port: random.of(ports), allowHalfOpen: true })
  socket.on('error', () => undefined)
  socket.on('end', () => socket.end()).resume()
  socket.setTimeout(PATIENCE_MS, () => socket.destroy())
  const way = random.of(WAYS)
  socket.write(`${line} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`)
  await wait(random.below(within))
  if (stay) return
  if (way === 'reset') socket.resetAndDestroy()
  else if (way === 'close') socket.destroy()
  else socket.end()
}

/** Returns what `check` finds in the history of the registers that clients which leave do not write. */
export function violationsOf(history: readonly Operation[]): readonly Violation[] {
  return check(history.filter(({ key }) => Number(key) < FIRST_OWN))
}

/** Returns what `checkWrites` finds, and writes of clients that left which reached a node twice. */
export function wrongWritesOf(log: WriteLog, received: Readonly<Record<string, number>>): readonly string[] {
  const left = Object.entries(received).filter(([path, times]) => path.includes('/group/left') && times > 1)
  return [...checkWrites(log, received), ...left.map(([path, times]) => `${path} was received ${times} times`)]
}
