/** Measures responses that a whole edge computes from a snapshot. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../support/redis.ts'
import { caller, edgeBefore, type Reply } from '../cluster/edge.ts'
import { addressOf } from '../cluster/names.ts'
import { launch, type Running } from '../contenders.ts'
import { cpuOf } from '../load.ts'
import { WrongResponseError } from '../verify.ts'
import { type DerivedQuery, kindsOf, ROWS_PER_PAGE } from './queries.ts'

export interface DerivedTimes {
  /** Milliseconds of each response by kind, in the order of the requests. */
  readonly byKind: ReadonlyMap<string, readonly number[]>
  /** Milliseconds of stored responses of the same length, for comparison: plain hits. */
  readonly stored: readonly number[]
  /** Milliseconds by offset, of pages of one sort. */
  readonly byOffset: ReadonlyMap<number, readonly number[]>
  /** The mean CPU time of the edge for one of the responses by kind, in milliseconds. */
  readonly cpu: number
}

const OFFSETS = [0, 1000, 50_000]
const FROM_SNAPSHOT = /; hit;.*detail=snapshot/
/** A snapshot of many calls is built only after as many queries. */
const MAX_WARM_REQUESTS = 2000
/** The first rounds have cold code. */
const WARM_ROUNDS = 60

export async function measureDerived(total: number, rounds: number): Promise<DerivedTimes> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const port = await freePort()
  const node = await startNode(port, total)
  const snapshots = { groups: ['agents'], maxBytes: '128MiB', localBytes: '256MiB' }
  const edge = await edgeBefore(1, port, folder, { ttl: { agents: '1h' }, snapshots })
  const { ask, close } = caller(edge.url)
  try {
    await warm(ask)
    const kinds = Object.entries(kindsOf(total))
    const byKind = new Map<string, number[]>(kinds.map(([name]) => [name, []]))
    for (let turn = 0; turn < WARM_ROUNDS; turn += 1) for (const [, kind] of kinds) await derived(ask, kind(turn))
    const stored: number[] = []
    const path = `/agents?limit=${ROWS_PER_PAGE}`
    for (let turn = 0; turn < WARM_ROUNDS; turn += 1) stored.push((await ask(path, false)).ms)
    const before = await cpuOf(edge.pid)
    for (let turn = WARM_ROUNDS; turn < WARM_ROUNDS + rounds; turn += 1) {
      for (const [name, kind] of kinds) byKind.get(name)?.push(await derived(ask, kind(turn)))
    }
    const cpu = ((await cpuOf(edge.pid)) - before) / 1000 / (rounds * kinds.length)
    const offsets = OFFSETS.filter((offset) => offset < total)
    const byOffset = new Map<number, number[]>(offsets.map((offset) => [offset, []]))
    for (let turn = 0; turn < rounds; turn += 1) {
      for (const offset of offsets) {
        const query = { sort: 'name', offset: `${offset}`, limit: `${ROWS_PER_PAGE + 1 + turn}` }
        byOffset.get(offset)?.push(await derived(ask, { query, totalItems: total }))
      }
    }
    return { byKind, stored, byOffset, cpu }
  } finally {
    await close()
    await edge.stop()
    await node.stop()
    await rm(folder, { recursive: true })
  }
}

type Ask = ReturnType<typeof caller>['ask']

/** Sends different queries until one is answered from a snapshot. */
async function warm(ask: Ask): Promise<void> {
  for (let turn = 0; turn < MAX_WARM_REQUESTS; turn += 1) {
    const { headers } = await ask(`/agents?limit=1&offset=${1 + turn}`, false)
    if (FROM_SNAPSHOT.test(String(headers['cache-status']))) return
    await new Promise((resolve) => setTimeout(resolve, turn < 200 ? 0 : 50))
  }
  throw new WrongResponseError(`no snapshot after ${MAX_WARM_REQUESTS} queries`)
}

async function derived(ask: Ask, wanted: DerivedQuery): Promise<number> {
  const path = `/agents?${new URLSearchParams(wanted.query)}`
  const reply = await ask(path, false)
  const fault = faultOf(reply, wanted)
  if (fault !== undefined) throw new WrongResponseError(`${path}: ${fault}`)
  return reply.ms
}

function faultOf({ status, headers, body }: Reply, { query, totalItems, firstId }: DerivedQuery): string | undefined {
  const cacheStatus = String(headers['cache-status'])
  if (status !== 200 || !FROM_SNAPSHOT.test(cacheStatus)) return `status ${status}, Cache-Status ${cacheStatus}`
  const { data } = JSON.parse(body.toString()) as { data: { items: readonly { id: string }[]; totalItems: number } }
  if (data.totalItems !== totalItems) return `${data.totalItems} rows in all instead of ${totalItems}`
  const left = Math.max(0, totalItems - Number(query.offset ?? 0))
  if (data.items.length !== Math.min(left, Number(query.limit))) return `a page of ${data.items.length} rows`
  const first = data.items[0]?.id
  return firstId === undefined || first === firstId ? undefined : `begins with ${first} instead of ${firstId}`
}

function startNode(port: number, total: number): Promise<Running> {
  const file = fileURLToPath(new URL('../servers/collection.ts', import.meta.url))
  const command = ['node', ...process.execArgv, file, String(port), String(total)]
  return launch('node', command, `http://${addressOf(0)}:${port}`)
}
