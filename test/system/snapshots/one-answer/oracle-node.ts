/**
 * A node whose collections are answered by the oracle of a manager's engine (test/support/engine). Everything else is
 * passed on to a simulated master. The oracle has the rows of the simulated cluster, and some odd ones.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { Simulator } from '../../../../packages/simulator/src/index.ts'
import {
  createEngine,
  type Engine,
  type EngineCollection,
  engineCollectionOf,
} from '../../../support/engine/collections.ts'
import type { EngineItem, Outcome } from '../../../support/engine/outcome.ts'
import { listen } from '../../../unit/upstream/fake-node.ts'
import { withOddRows } from './odd-rows.ts'

export interface OracleNode {
  readonly url: string
  /** The collection of a path, if the oracle answers it. */
  find(path: string): Answering | undefined
}

export interface Answering {
  readonly collection: EngineCollection
  readonly engine: Engine
  /** As the node returns them. */
  readonly rows: readonly EngineItem[]
}

/** Begins the messages of the oracle. */
export const FROM_ORACLE = 'oracle'

const AUTHORIZATION = `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}`

/** `paths`: the collections that the oracle answers. */
export async function startOracleNode(
  t: Pick<Test, 'teardown'>,
  simulator: Simulator,
  paths: readonly string[],
): Promise<OracleNode> {
  const master = simulator.nodes[0]?.url ?? ''
  const engines = new Map<string, Answering>()
  for (const path of paths) {
    const collection = engineCollectionOf(path)
    if (collection === undefined) throw new Error(`the oracle has no collection ${path}`)
    const rows = inOrderOfSource(collection, withOddRows(path, await readAll(master, path)))
    engines.set(path, { collection, engine: createEngine(collection, rows, 'ofIndex'), rows })
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://node')
    const found = engines.get(url.pathname)
    if (found === undefined || request.method !== 'GET') return passOn(master, request, response)
    const query = Object.fromEntries(url.searchParams)
    const outcome = found.engine.answer(query, new Date())
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(bodyOf(outcome)))
  }
  const { port } = await listen(t, createServer(answer))
  return { url: `http://127.0.0.1:${port}`, find: (path) => engines.get(path) }
}

/** What is not determined is an error, so that a page in its place is a difference. */
export function bodyOf(outcome: Outcome): object {
  if (outcome.kind === 'page') return { error: 0, data: { items: outcome.items, totalItems: outcome.totalItems } }
  if (outcome.kind === 'error') return { error: outcome.code, message: `${FROM_ORACLE} error ${outcome.code}` }
  return { error: 1000, message: `${FROM_ORACLE} not determined, ${outcome.why}` }
}

/** Lists that are sorted by default have another order in their source, which shows in rows that a sort leaves open. */
function inOrderOfSource(described: EngineCollection, rows: readonly EngineItem[]): readonly EngineItem[] {
  if (described.kind === 'database' || described.collection.order === undefined) return rows
  const placeOf = (at: number) => ((at + 1) * 7919) % 104_729
  return rows
    .map((row, at) => ({ row, at }))
    .sort((a, b) => placeOf(a.at) - placeOf(b.at))
    .map(({ row }) => row)
}

async function readAll(master: string, path: string): Promise<EngineItem[]> {
  const rows: EngineItem[] = []
  for (;;) {
    const url = `${master}${path}?limit=1000&offset=${rows.length}`
    const response = await fetch(url, { headers: { authorization: AUTHORIZATION } })
    const { data } = (await response.json()) as { data?: { items: EngineItem[]; totalItems: number } }
    if (data === undefined) throw new Error(`${url} has no rows`)
    rows.push(...data.items)
    if (data.items.length < 1000) return rows
  }
}

async function passOn(master: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { authorization = '' } = request.headers
  const method = request.method ?? 'GET'
  const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }
  const passed = await fetch(master + request.url, { method, headers: { authorization }, ...body })
  const type = passed.headers.get('content-type') ?? 'application/json'
  response.writeHead(passed.status, { 'content-type': type }).end(await passed.text())
}
