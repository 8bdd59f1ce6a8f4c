/**
 * The fields that the edge names to a node in `sort`, `select` and `q` are fields that the node has, whatever field the
 * client names, and without one. A real node has named them (`../data/v4-fields.yaml`).
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { startV4 } from '../../../packages/simulator/test/v4/ask.ts'
import { parseQuery, type Query } from '../../../src/collections/grammar.ts'
import type { V3Endpoint } from '../../../src/contracts/endpoint.ts'
import type { NodeCall } from '../../../src/core/node-call.ts'
import { edgeRequest } from '../../unit/upstream/edge-request.ts'
import { callsOf, fieldsOf, paramsOf, translated } from './dialect-calls.ts'
import { matches } from './v4-contract.ts'

type Name = 'sort' | 'select' | 'q'

interface Facts {
  readonly in: readonly Name[]
  readonly fields: readonly string[]
}

const text = readFileSync(new URL('../data/v4-fields.yaml', import.meta.url), 'utf8')
const facts = parse(text) as Readonly<Record<string, readonly Facts[]>>

/** Fields that the node adds to those it names. */
const KEYS: Readonly<Record<string, readonly string[]>> = { '/experimental/': ['agent_id'] }

function knownFields(path: string, name: Name): readonly string[] | undefined {
  const segments = path.split('/')
  const [template = ''] = Object.keys(facts).filter((known) => matches(known.split('/'), segments))
  const found = facts[template]?.find((group) => group.in.includes(name))
  const keys = Object.entries(KEYS).flatMap(([start, fields]) => (path.startsWith(start) ? fields : []))
  return found === undefined ? undefined : [...found.fields, ...keys]
}

/** Requests that name each field in each parameter, and one that names none. */
function requestsOf(endpoint: V3Endpoint) {
  const params = paramsOf(endpoint)
  const named = fieldsOf(endpoint).flatMap((field) => [
    { sort: `-${field}` },
    { sort: field },
    { select: field },
    { q: `${field}=1` },
  ])
  const possible = named.filter((query) => Object.keys(query).every((name) => name in endpoint.query))
  return [{}, ...possible].map((query) => edgeRequest('GET', endpoint.path, { params, query: query as Texts }))
}

type Texts = Readonly<Record<string, string>>

function namesIn(name: Name, value: string): readonly string[] {
  if (name !== 'q') return value.replace(/^[+-]/, '').split(',')
  const parsed = parseQuery(value)
  if (parsed === undefined) throw new Error(`q=${value}`)
  return conditionsOf(parsed)
}

function conditionsOf(query: Query): readonly string[] {
  return query.kind === 'condition' ? [query.field] : query.of.flatMap(conditionsOf)
}

const reads = translated.filter(({ method }) => method === 'GET')

t.test('a node has each field that the edge names', async (t) => {
  const unknown: string[] = []
  const compared = new Set<string>()
  const see = (v3: string, { path }: NodeCall) => {
    const { pathname, searchParams } = new URL(path, 'http://node')
    for (const name of ['sort', 'select', 'q'] as const) {
      const value = searchParams.get(name)
      const known = knownFields(pathname, name)
      if (value === null || known === undefined || value === '') continue
      for (const field of namesIn(name, value)) {
        compared.add(`${pathname} ${name} ${field}`)
        if (!known.includes(field)) unknown.push(`${v3}: ${path}: ${field}`)
      }
    }
  }
  for (const endpoint of reads) {
    const asked = requestsOf(endpoint).map((request) => callsOf(request, { version: '4.5.4', refuse: () => undefined }))
    for (const { call } of (await Promise.all(asked)).flat()) see(endpoint.path, call)
  }
  t.same([...new Set(unknown)], [], 'each field is one that a real node named in test/contract/data/v4-fields.yaml')
  t.ok(compared.size > 400, `${compared.size} fields`)
})

t.test('the order that the edge asks for by itself has fields that a real node has named', async (t) => {
  for (const { path, translation } of reads) {
    const order = translation?.call.order
    if (order === undefined) continue
    const known = knownFields(translation?.call.path ?? '', 'sort') ?? []
    const asked = [order.byDefault.slice(1), ...order.ties]
    // A system is one row: the real node was not asked for an order of them.
    if (path.endsWith('/os')) continue
    t.same(
      asked.filter((field) => !known.includes(field)),
      [],
      `${path}: test/contract/data/v4-fields.yaml has each field, or the translation has no "order" (an inventory: "ofOneSince")`,
    )
  }
})

/** Values of paths, and objects that a simulated cluster has. */
const SIMULATED: Texts = { agent_id: '001', policy_id: 'cis_debian9_L1', group_id: 'default' }

t.test('the simulated node has the fields of a real one, and refuses others', async (t) => {
  const { ask } = await startV4(t, { agents: 5 })
  const patterns = {
    sort: /Allowed sort fields: (.*?)\.? (?:Wrong f|F)ields/,
    select: /Allowed select fields: (.*?)\. Fields/,
    q: /Available fields: (.*?)\. Field/,
  }
  const codes = { sort: 1403, select: 1724, q: 1408 }
  for (const [template, groups] of Object.entries(facts)) {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => SIMULATED[name] ?? name)
    for (const { in: names, fields } of groups) {
      for (const name of names) {
        const parameter = path === '/agents/stats/distinct' ? 'fields' : name
        const value = name === 'q' ? 'nope=1' : 'nope'
        const agents = path.startsWith('/experimental/') ? '&agents_list=001' : ''
        const { json } = await ask(`GET ${path}?${parameter}=${value}${agents}`)
        const said = patterns[name].exec(`${json?.detail} ${(json as { remediation?: string })?.remediation}`)?.[1]
        t.equal(json?.error, codes[name], `${path}: ${name}`)
        t.same(
          said
            ?.replace(/[[\]' ]/g, '')
            .split(',')
            .sort(),
          [...fields].sort(),
          `${path}: ${name}`,
        )
      }
    }
  }
})
