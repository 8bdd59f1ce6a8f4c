/**
 * Replays three real nodes without distribution (exchanges/three-nodes.jsonl) on three servers, by exact path and
 * query. Other pages of a recorded collection are cut from its largest recorded page in the node's order. If a node had
 * more rows than were recorded (packages: 1,000 of 1,798 rows, logs: 50), the total is the number of recorded rows.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

export type Row = Readonly<Record<string, unknown>>
export interface Collection {
  readonly items: readonly Row[]
  readonly totalItems: number
}

export interface Exchange {
  readonly distribution: 'edge' | 'manager'
  readonly node: string
  readonly request: { readonly method: string; readonly path: string }
  readonly response: { readonly status: number; readonly body: string }
}

export const nodeNames = ['master', 'worker-1', 'worker-2'] as const

const file = fileURLToPath(new URL('../exchanges/three-nodes.jsonl', import.meta.url))
export const recorded: readonly Exchange[] = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Exchange)

/** Returns the recorded exchanges of one node, or with `manager` of the cluster through its master. */
export function answerOf(node: string, path: string, distribution: Exchange['distribution'] = 'edge'): unknown {
  const found = recorded.find((one) => {
    return one.distribution === distribution && one.node === node && sameUrl(one.request.path, path)
  })
  return found && (JSON.parse(found.response.body) as unknown)
}

export function collectionOf(node: string, path: string, distribution?: Exchange['distribution']): Collection {
  const { data } = answerOf(node, path, distribution) as { data: Collection }
  return data
}

export interface ReplayedNode {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly url: string
  /** Requested paths and queries. */
  requested(): string[]
  /** Requests without a recording. */
  readonly unknown: string[]
}

export function startThreeNodes(t: Pick<Test, 'teardown'>): Promise<ReplayedNode[]> {
  return Promise.all(
    nodeNames.map(async (name) => {
      const unknown: string[] = []
      const node = await fakeNode(t, (request, response) => replay(name, request, response, unknown))
      const type = name === 'master' ? 'master' : 'worker'
      return { name, type, url: node.url, unknown, requested: () => node.seen.map(({ url = '' }) => url) }
    }),
  )
}

/** Readiness probes, and the check whether a node distributes. Of the latter only one name was recorded. */
const PROBE = /^\/version$|^\/cluster\/[^/]+\/info$/

function replay(node: string, { url = '' }: IncomingMessage, response: ServerResponse, unknown: string[]): void {
  const recorded = cut(node, url) ?? answerOf(node, url)
  if (recorded === undefined && !PROBE.test(url)) unknown.push(url)
  const body = JSON.stringify(recorded ?? { error: 603, message: `Nothing was recorded for ${url}` })
  response
    .writeHead(recorded === undefined ? 404 : 200, { 'content-type': 'application/json; charset=utf-8' })
    .end(body)
}

/** Returns another page of a recorded collection with the selected fields. */
function cut(node: string, url: string): unknown {
  const wanted = parse(url)
  const { offset = '0', limit = '500', select, q, ...others } = wanted.query
  // Agents by id: the edge verifies the owner of an agent in this way.
  const ids =
    wanted.path === '/agents' && q !== undefined ? q.split(',').map((one) => one.replace(/^id=/, '')) : undefined
  const filters = ids === undefined && q !== undefined ? { ...others, q } : others
  const pages = recorded.filter(({ distribution, node: of, request }) => {
    const { path, query } = parse(request.path)
    const { offset: _, limit: __, ...own } = query
    return distribution === 'edge' && of === node && path === wanted.path && same(own, filters)
  })
  const largest = pages
    .map((page) => JSON.parse(page.response.body) as { error: number; data?: Partial<Collection> })
    .filter(({ error, data }) => error === 0 && Array.isArray(data?.items))
    .sort((a, b) => (b.data?.items?.length ?? 0) - (a.data?.items?.length ?? 0))[0]?.data
  if (largest?.items === undefined) return undefined
  const rows = largest.items.filter(({ id }) => ids?.includes(String(id)) ?? true)
  const items = rows.slice(Number(offset), Number(offset) + Number(limit))
  const data = { items: items.map((row) => chosen(row, select)), totalItems: rows.length }
  return { error: 0, data }
}

/** Rows of agents have the field names of `select`. */
function chosen(row: Row, select: string | undefined): Row {
  if (select === undefined) return row
  const names = select.split(',')
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)))
}

function parse(url: string): { path: string; query: Record<string, string> } {
  const { pathname, searchParams } = new URL(url, 'http://node')
  return { path: pathname, query: Object.fromEntries(searchParams) }
}

function sameUrl(a: string, b: string): boolean {
  const [one, other] = [parse(a), parse(b)]
  return one.path === other.path && same(one.query, other.query)
}

function same(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}
