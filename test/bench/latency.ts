/**
 * Measures latency at half the maximum rate: both servers receive the same constant rate, half of the slower server's
 * maximum. Delayed requests count from the time at which they were due (autocannon's correction).
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Size } from './bodies.ts'
import type { Case } from './cases.ts'
import { CONNECTIONS, pinned } from './load.ts'
import type { Medians } from './report.ts'
import { verified, WrongResponseError } from './verify.ts'

/** The name that `--only` matches. */
export const LATENCY = 'latency at half the rate'
const SERVERS = ['node:http', 'edge, Basic', 'edge, Bearer'] as const
/** The goal: the p99 exceeds that of node:http by at most this many milliseconds. */
const MAX_EXTRA_MS = 3
/** The generator uses one core too; above this rate its own queueing would be measured. */
const MAX_RATE = 8000

interface Latency {
  readonly p50: number
  readonly p99: number
  readonly rate: number
}

export async function latencies(
  cases: readonly Case[],
  medians: Medians,
  { seconds, columns }: { readonly seconds: number; readonly columns: readonly Size[] },
  say: (text: string) => void,
): Promise<void> {
  say(`\n${LATENCY}, ms (median · p99), load by autocannon`)
  for (const column of columns) {
    const measured = SERVERS.flatMap((row) => cases.find((each) => each.row === row && each.column === column) ?? [])
    const slowest = Math.min(...measured.map(({ row }) => medians.get(row)?.get(column)?.rate ?? 0))
    const rate = Math.min(MAX_RATE, Math.floor(slowest / 2))
    if (measured.length < 2 || rate < 1) continue
    let least: number | undefined
    for (const each of measured) {
      try {
        await latencyOf(each, rate, 1)
        const found = await latencyOf(each, rate, seconds)
        least ??= found.p99
        const over = found.p99 - least
        const verdict =
          each.row === 'node:http'
            ? ''
            : `, ${over <= MAX_EXTRA_MS ? 'reached' : 'missed'} (p99 ≤ ${MAX_EXTRA_MS} ms over node:http)`
        say(
          `  ${each.row}, ${column}, ${Math.round(found.rate)} of ${rate} requests/s: ${found.p50} · ${found.p99}${verdict}`,
        )
      } catch (fault) {
        if (fault instanceof WrongResponseError) throw fault
        say(`  ${each.row}, ${column}: not measured: ${fault instanceof Error ? fault.message : String(fault)}`)
      }
    }
  }
}

function latencyOf(each: Case, rate: number, seconds: number): Promise<Latency> {
  const { row, column, server, path, headers, expected } = each
  const name = `${row}, ${column}`
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
