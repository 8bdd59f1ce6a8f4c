/**
 * Hits, side by side: each server a process of its own on one core, the load on another, in alternation, so that what
 * else the machine does falls on all of them. Prints medians, ratios to bare node:http, and the goals.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../redis.ts'
import { pathOf, type Size, sizes } from './bodies.ts'
import { bare, basic, edge, express, nginx, type Running, varnish } from './contenders.ts'
import { cpuOf, generator, load, type Sample } from './load.ts'
import { type Goal, goals, type Medians, printGoals, printTable } from './report.ts'

interface Case {
  /** Its row in the table. */
  readonly row: string
  readonly column: string
  readonly server: Running
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

const quick = process.argv.includes('--quick')
const [rounds, seconds] = quick ? [1, 1] : [5, 2]
const opened: { stop(): Promise<void> }[] = []
const say = (text: string): void => console.log(text)

async function open(starting: Promise<Running | string>): Promise<Running | undefined> {
  const found = await starting
  if (typeof found === 'string') {
    say(`skipped: ${found}`)
    return undefined
  }
  opened.push(found)
  return found
}

/** The headers of a Bearer caller, the token asked for as clients do. */
async function bearer({ url }: Running): Promise<string> {
  const response = await fetch(`${url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: basic },
  })
  const { data } = (await response.json()) as { data: { token: string } }
  return `Bearer ${data.token}`
}

/** A server that keeps nothing would be measured as its origin. */
async function hits({ url }: Running): Promise<boolean> {
  for (const size of Object.keys(sizes) as Size[])
    await fetch(url + pathOf(size), { headers: { authorization: basic } })
  const again = await fetch(url + pathOf('1.2 kB'), { headers: { authorization: basic } })
  return /\bhit\b/.test(again.headers.get('cache-status') ?? '')
}

function bySize(row: string, server: Running | undefined, headers: Case['headers'] = {}): Case[] {
  if (server === undefined) return []
  return (Object.keys(sizes) as Size[]).map((size) => ({ row, column: size, server, path: pathOf(size), headers }))
}

const one = (row: string, column: Size, server: Running | undefined, headers: Case['headers']): Case[] =>
  bySize(row, server, headers).filter((each) => each.column === column)

async function edgeCases(server: Running, name: string): Promise<Case[]> {
  const { headers } = await fetch(server.url + pathOf('1.2 kB'), { headers: { authorization: basic } })
  const etag = headers.get('etag') ?? ''
  return [
    ...bySize(`${name}, Basic`, server, { authorization: basic }),
    ...bySize(`${name}, Bearer`, server, { authorization: await bearer(server) }),
    ...one(`${name}, Basic, gzip`, '600 kB', server, { authorization: basic, 'accept-encoding': 'gzip' }),
    ...one(`${name}, Basic, 304`, '1.2 kB', server, { authorization: basic, 'if-none-match': etag }),
    ...(quick
      ? []
      : one(`${name}, Basic, no-cache`, '1.2 kB', server, { authorization: basic, 'cache-control': 'no-cache' })),
  ]
}

async function prepare(folder: string): Promise<Case[]> {
  const origin = await bare()
  opened.push(origin)
  const place = { folder, origin: origin.url }
  const limit = await open(bare())
  const cases = bySize('node:http', limit)
  const redis = await startRedis()
  opened.push({ stop: () => redis.close() })
  const begins = edge(place, { redis: redis.url })
  const server = await open(begins)
  if (server !== undefined && (await hits(server))) cases.push(...(await edgeCases(server, 'edge')))
  else say('skipped: the edge keeps nothing')
  if (server !== undefined) say(`start to ready: ${Math.round((await cpuOf(server.pid)) / 10_000) / 100} s of CPU`)
  cases.push(...bySize('nginx', await open(nginx(place))))
  cases.push(...one('nginx, gzip 1', '600 kB', await open(nginx(place, { gzip: true })), { 'accept-encoding': 'gzip' }))
  cases.push(...bySize('Varnish', await open(varnish(place))))
  const incumbent = await open(express())
  cases.push(...bySize('Express, apicache', incumbent, { authorization: basic }))
  if (!quick) cases.push(...(await slowCases(place)))
  return cases
}

/** What a short run leaves out. */
async function slowCases(place: { folder: string; origin: string }): Promise<Case[]> {
  const secure = await open(edge(place, { tls: true }))
  const silent = await open(edge(place, { log: 'silent' }))
  const kept = async (server: Running | undefined) => server !== undefined && (await hits(server))
  return [
    ...bySize('node:https', await open(bare(true))),
    ...((await kept(secure)) ? bySize('edge, Basic, TLS', secure, { authorization: basic }) : []),
    ...bySize('nginx, TLS', await open(nginx(place, { tls: true }))),
    ...((await kept(silent)) ? one('edge, Basic, no log', '1.2 kB', silent, { authorization: basic }) : []),
    ...one('nginx, bcrypt', '1.2 kB', await open(nginx(place, { bcrypt: true })), { authorization: basic }),
  ]
}

async function measure(cases: readonly Case[]): Promise<Medians> {
  const samples = new Map<Case, Sample[]>(cases.map((each) => [each, []]))
  const ask = ({ server, path, headers }: Case, time: number) =>
    load({ url: server.url + path, headers, pid: server.pid }, time)
  for (let round = 0; round < rounds; round++)
    for (const each of cases) {
      // Whoever has idled while the others were asked is slow at first: code, caches, credentials to be verified anew.
      await ask(each, 1)
      samples.get(each)?.push(await ask(each, seconds))
    }
  const medians = new Map<string, Map<string, Sample>>()
  for (const [{ row, column }, taken] of samples) {
    const columns = medians.get(row) ?? new Map<string, Sample>()
    medians.set(
      row,
      columns.set(column, { rate: median(taken.map(({ rate }) => rate)), cpu: median(taken.map(({ cpu }) => cpu)) }),
    )
  }
  return medians
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

// Certificates of the bench are its own.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
process.removeAllListeners('warning')
const folder = await mkdtemp(join(tmpdir(), 'edge-bench-'))
try {
  const cases = await prepare(folder)
  say(`${cases.length} cases, ${rounds} rounds of ${seconds} s each, load by ${generator}`)
  const medians = await measure(cases)
  printTable(medians, say)
  const asked: readonly Goal[] = goals
  printGoals(asked, medians, say)
} finally {
  for (const each of opened.reverse()) await each.stop()
  await rm(folder, { recursive: true, force: true })
}
