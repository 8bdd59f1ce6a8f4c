/**
 * Measures latency at half the maximum rate: both servers receive the same constant rate, half of the slower server's
 * maximum. Delayed requests count from the time at which they were due (autocannon's correction).
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Case, EDGE, NODE } from './cases.ts'
import { CONNECTIONS, pinned, type Sample } from './load.ts'
import { median, type Samples } from './report.ts'
import { verified, WrongResponseError } from './verify.ts'

const ROWS = [
  ['small', NODE],
  ['small', EDGE],
  ['Bearer', EDGE],
  ['medium', NODE],
  ['medium', EDGE],
] as const
const SECONDS = 10
/** The goal: the p99 exceeds that of node:http by at most this many milliseconds. */
const MAX_EXTRA_MS = 3
/** The generator uses one core too; above this rate its own queueing would be measured. */
const MAX_RATE = 8000

interface Latency {
  readonly p50: number
  readonly p99: number
  readonly rate: number
}

export async function latencies(samples: Samples, say: (text: string) => void): Promise<void> {
  say('\nlatency at half of the rate, ms (median · p99), load by autocannon')
  const measured = ROWS.flatMap(([kind, row]) =>
    [...samples].filter(([each]) => each.kind === kind && each.row === row),
  )
  for (const path of new Set(measured.map(([{ path }]) => path))) {
    const rows = measured.filter(([each]) => each.path === path)
    const rate = Math.min(MAX_RATE, ...rows.map(([, taken]) => Math.floor(median(taken.map(rateOf)) / 2)))
    if (rows.length < 2 || rate < 1) continue
    let least: number | undefined
    for (const [each] of rows) {
      await latencyOf(each, rate, 1)
      const found = await latencyOf(each, rate, SECONDS)
      least ??= found.p99
      const over = found.p99 - least
      const goal = `${over <= MAX_EXTRA_MS ? 'reached' : 'not reached'} (p99 ≤ ${MAX_EXTRA_MS} ms over node:http)`
      const figures = `${found.p50} · ${found.p99}${each.row === NODE ? '' : `, ${goal}`}`
      say(`  ${each.kind}, ${each.row}, ${Math.round(found.rate)} of ${rate} requests/s: ${figures}`)
    }
  }
}

const rateOf = ({ rate }: Sample): number => rate

function latencyOf(each: Case, rate: number, seconds: number): Promise<Latency> {
  const { kind, row, server, path, headers, expected } = each
  const name = `${kind}, ${row}`
  return verified({ name, url: server.url + path, headers, expected }, () => measure(each, rate, seconds))
}

async function measure({ row, server, path, headers }: Case, rate: number, seconds: number): Promise<Latency> {
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const settings = ['-j', '-c', String(CONNECTIONS), '-R', String(rate), '-d', String(seconds)]
  const [file = '', ...args] = pinned(1, ['npx', 'autocannon', ...settings, ...named, server.url + path])
  const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 1 << 24 })
  const { latency, requests, non2xx, errors } = JSON.parse(stdout) as {
    latency: { p50: number; p99: number }
    requests: { average: number }
    non2xx: number
    errors: number
  }
  if (non2xx + errors > 0) throw new WrongResponseError(`${row}: ${non2xx + errors} responses were different`)
  return { p50: latency.p50, p99: latency.p99, rate: requests.average }
}
