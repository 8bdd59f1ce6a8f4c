/**
 * What each read of both contracts costs, plain and with parameters of each kind, for the proof and for
 * `npm run bench:fleet -- --prices`.
 */
import type { Test } from 'tap'
import type { Endpoint, Param } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { isInRelease } from '../../../src/core/node-call.ts'
import { sampleOf } from '../../support/sample-values.ts'
import { simulated } from '../../support/simulated.ts'
import { urlsOf } from '../v4-contract/rights/reads.ts'

export const ways = [
  { name: 'mode manager', contract: 'v3', layout: 'v3', distribution: 'manager' },
  { name: 'mode edge', contract: 'v3', layout: 'v3', distribution: 'edge' },
  { name: 'v4 layout', contract: 'v3', layout: 'v4', distribution: 'manager' },
  { name: 'v4 contract', contract: 'v4', layout: 'v4', distribution: 'manager' },
] as const

export const PRICES_DOCUMENT = 'docs/read-prices.md'
export const MEASURE = `run "npm run bench:fleet -- --prices --write ${PRICES_DOCUMENT}"`

const READ_ROW = /^\| `(.+)` \| (.+) \|$/gm

/** Returns the reads that the document lists, with their cells. */
export function pricedReads(page: string): readonly (readonly [path: string, cells: readonly string[]])[] {
  return [...page.matchAll(READ_ROW)].map(([, path = '', cells = '']) => [path, cells.split(' | ')])
}

/** Returns the names of the columns of the document. Each ends with the name of a way. */
export function columnsOf(page: string): readonly string[] {
  return (/^\| read \| (.+) \|$/m.exec(page)?.[1] ?? '').split(' | ')
}

/**
 * Adds what follows from its record for each read that the document lacks, of a new path or of one that only the other contract
 * had: to measure all reads takes minutes. The proof of prices fails if such a read costs more. The other cells stay as they are.
 */
export function withNewReads(page: string): string {
  const listed = new Set(pricedReads(page).map(([path]) => path))
  const [, limit = ''] = /(\d+) calls: 2 × \d+ nodes/.exec(page) ?? []
  const columns = columnsOf(page).map((column) => {
    const way = wayOf(column)
    return new Map(readsOf(way).map((read) => [read.path, costsOneCall(read, way) ? '1' : `≤ ${limit}`]))
  })
  const rowOf = (path: string, cells: readonly string[] = []) => {
    const filled = columns.map((added, at) => [cells[at], added.get(path)].find((cell) => cell && cell !== '–') ?? '–')
    return `| ${[`\`${path}\``, ...filled].join(' | ')} |`
  }
  const known = page.replace(READ_ROW, (_, path: string, cells: string) => rowOf(path, cells.split(' | ')))
  const missing = new Set(columns.flatMap((added) => [...added.keys()].filter((path) => !listed.has(path))))
  return known + [...missing].map((path) => `${rowOf(path)}\n`).join('')
}

/** Returns the way of a column of the document. */
export function wayOf(column: string): Way {
  const way = ways.find(({ name }) => column.endsWith(`, ${name}`))
  if (way === undefined) throw new Error(`${PRICES_DOCUMENT} has a column "${column}" of no known way`)
  return way
}

/** Whether one node answers the read with one call. */
function costsOneCall({ target, ...record }: Endpoint, { layout }: Way): boolean {
  if (record.contract === 'v4') return true
  const isOfSeveral = target.kind === 'severalNodes' || target.kind === 'everyNode'
  return !isOfSeveral && (layout === 'v3' || record.translation?.plan === undefined)
}

export type Way = (typeof ways)[number]

/** Values for the names in paths of reads. */
const VALUES: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'agent-1',
  group_id: 'default',
  node_id: 'master',
  node_ids: '*',
  component: 'agent',
  configuration: 'client',
  requirement: 'pci',
  file_name: 'agent.conf',
  policy_id: 'unix_audit',
  rule_id: '5501',
  decoder_name: 'sshd',
  ip: '127.0.0.1',
}

export interface ReadPrice {
  readonly path: string
  /** The parameter that was sent besides the mandatory ones, or the page. Absent: none. */
  readonly parameter?: string
  readonly target: string
  /** The calls of nodes, without probes, logins and those of the owner table. */
  readonly calls: readonly string[]
  /** The calls with which the owner table was read, which all reads share. */
  readonly ownerCalls: number
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The owner table is read by these parameters. */
const OF_OWNERS = 'select=id%2Cnode_name%2Cstatus'

export interface PricedCluster {
  readonly agents: number
  readonly workers: number
}

interface PriceOptions {
  /** Also with parameters, and as pages. */
  readonly hasParameters?: boolean
}

/** The calls of probes and logins, and the paths of the reads for which they are sent too. */
const PROBES: Readonly<Record<string, readonly string[]>> = {
  '/': ['/', '/version'],
  '/version': ['/version'],
  '/security/user/authenticate': [],
}

/** Sends each read once, one after the other, with an empty cache. `t`: ends the edge and the cluster. */
export async function* pricesOfReads(
  t: Pick<Test, 'teardown'>,
  { agents, workers }: PricedCluster,
  way: Way,
  { hasParameters = false }: PriceOptions = {},
): AsyncGenerator<ReadPrice> {
  const { contract, layout, distribution } = way
  const settings = {
    listen: { contract },
    cluster: { layout, distribution, discover: false, limits: { perMinute: 0 } },
    access: { limits: { requestsPerSecond: 100_000 } },
  }
  const start = new Date()
  // The time of the cluster does not pass, so that it computes its rows once.
  const world = { agents, workers, layout, distributed: distribution === 'manager', now: () => start }
  const { simulator, edge } = await simulated(t, world, { settings })
  const basic = edge.authorization('admin')
  const authorization = contract === 'v4' ? `Bearer ${await logIn(edge.url, basic)}` : basic
  const price = async (path: string, target: string, parameter?: string): Promise<ReadPrice> => {
    const purged = await fetch(`${edge.url}/cache`, { method: 'DELETE', headers: { authorization } })
    if (!purged.ok) throw new Error(`purge: status ${purged.status}`)
    const before = simulator.seen.length
    const response = await send(edge.url + target, authorization)
    const isRead = (url: string) => PROBES[url]?.includes(path) !== false
    const urls = simulator.seen.slice(before).flatMap(({ url }) => (isRead(url) ? [url] : []))
    const calls = urls.filter((url) => !url.includes(OF_OWNERS))
    const ownerCalls = urls.length - calls.length
    return { path, target, calls, ownerCalls, ...response, ...(parameter !== undefined && { parameter }) }
  }
  for (const record of readsOf(way)) {
    const { path } = record
    const target = contract === 'v4' ? v4Url(record) : v3Url(record)
    const plain = await price(path, target)
    yield plain
    if (!hasParameters) continue
    for (const [parameter, query] of variantsOf(record, target, rowOf(plain.text)))
      yield await price(path, withParameters(target, query), parameter)
  }
}

async function send(url: string, authorization: string): Promise<Pick<ReadPrice, 'status' | 'headers' | 'text'>> {
  const answer = await fetch(url, { headers: { authorization } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

async function logIn(url: string, authorization: string): Promise<string> {
  const options = { method: 'POST', headers: { authorization } }
  return (await fetch(`${url}/security/user/authenticate?raw=true`, options)).text()
}

/** Of the simulated cluster in the v4 layout. */
const RELEASE = '4.5'

/** Returns the reads that nodes answer. */
export function readsOf({ contract, layout }: Way): readonly Endpoint[] {
  return (contract === 'v4' ? v4Contract : catalogue).filter((record) => {
    const { path, method, target } = record
    const { releases } = record.contract === 'v4' ? record : (record.translation ?? {})
    const isServed = layout === 'v3' || isInRelease(releases, RELEASE)
    return method === 'GET' && target.kind !== 'edge' && path !== '/security/user/authenticate' && isServed
  })
}

/** Nodes refuse rows of all agents if one of them has no database. */
function v4Url(record: Endpoint): string {
  const [target = ''] = urlsOf(record)
  return record.path.startsWith('/experimental/') ? withParameters(target, { agents_list: '001,002' }) : target
}

/** Returns the URL with the mandatory parameters. */
function v3Url({ path, query }: Endpoint): string {
  const mandatory = Object.entries(query).flatMap(([name, { required, kind }]) =>
    required === undefined ? [] : [[name, sampleOf(name, kind)]],
  )
  return withParameters(
    path.replaceAll(/:(\w+)/g, (_, value: string) => VALUES[value] ?? 'none'),
    Object.fromEntries(mandatory),
  )
}

type Query = Readonly<Record<string, string>>

function withParameters(target: string, query: Query): string {
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return pairs.length === 0 ? target : `${target}${target.includes('?') ? '&' : '?'}${pairs.join('&')}`
}

/** Of no effect on the calls. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['pretty', 'wait_for_complete', 'raw'])
/** Parameters of many reads. Each read has all of its others too; of rows of all agents, which cost most, the first one. */
const OF_MANY: ReadonlySet<string> = new Set(['select', 'sort', 'search', 'q', 'distinct', 'agent_id', 'agents_list'])

/** The second page of a walk, the largest page, and one beyond all rows. */
const PAGES: readonly (readonly [string, Query])[] = [
  ['page 2', { limit: '100', offset: '100' }],
  ['largest page', { limit: '1000' }],
  ['page beyond', { limit: '500', offset: '100000' }],
]

/** Returns the parameters of further reads, by what they show. */
function variantsOf({ path, query }: Endpoint, target: string, row: Row): readonly (readonly [string, Query])[] {
  const names = Object.keys(query).filter((name) => {
    if (!isInRelease(query[name]?.value?.releases, RELEASE)) return false
    const isSent = new RegExp(`[?&]${name}=`).test(target)
    return !isSent && !WITHOUT_EFFECT.has(name) && name !== 'limit' && name !== 'offset'
  })
  const others = names.filter((name) => !OF_MANY.has(name))
  const left = new Set(path.startsWith('/experimental/') ? others.slice(1) : [])
  const variants = names.flatMap((name) => {
    const param = query[name]
    if (param === undefined || left.has(name)) return []
    const needed = param.requires === undefined ? {} : { [param.requires]: sampleOf(param.requires, '') }
    return [[name, { ...needed, [name]: sampleFor(name, param, row) }] as const]
  })
  return Object.hasOwn(query, 'offset') ? [...variants, ...PAGES] : variants
}

type Row = Readonly<Record<string, unknown>>

/** Returns a row of the response, with its members that are texts or numbers. */
function rowOf(text: string): Row {
  if (!text.startsWith('{')) return {}
  const { data } = JSON.parse(text) as { readonly data?: { readonly items?: Row[]; readonly affected_items?: Row[] } }
  const [row = {}] = data?.items ?? data?.affected_items ?? []
  return Object.fromEntries(
    Object.entries(Object(row)).filter(([, value]) => /^[\w.-]+$/.test(typeof value === 'object' ? '' : String(value))),
  )
}

/** Added by the edge, so no row of a table has it. */
const OF_JOINED_ROWS: ReadonlySet<string> = new Set(['agent_id', 'node_name'])

/** Returns a legal value, of the row if it has one, so that the node finds rows. */
function sampleFor(name: string, { kind, value, allowed }: Param, row: Row): string {
  const [field = 'id', its = '001'] =
    Object.entries(row).find(([field]) => /^[a-z_]+$/.test(field) && !OF_JOINED_ROWS.has(field)) ?? []
  if (name === 'select') return field
  if (name === 'sort') return `-${field}`
  if (name === 'search') return 'a'
  if (name === 'q') return `${field}=${its}`
  if (name === 'agent_id' || name === 'agents_list') return '001,002'
  if (row[name] !== undefined && typeof row[name] !== 'boolean') return String(row[name])
  if (value === undefined) return allowed?.[0] ?? sampleOf(name, kind)
  const item = value.type === 'array' ? value.items : value
  if (item.type === 'boolean') return 'true'
  if (item.type !== 'string') return String(Math.max(('minimum' in item ? item.minimum : 1) ?? 1, 1))
  return item.words?.[0] ?? TEXTS[item.format ?? ''] ?? 'default'
}

/** Texts of the formats of the v4 contract. */
const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-11-01',
  hash: 'd41d8cd98f00b204e9800998ecf8427e',
  numbers: '001',
  range: '2-5',
  timeframe: '7d',
  get_dirnames_path: 'etc/rules',
  wazuh_version: 'v4.9.0',
}
