/** The same cluster twice, once in each layout, each behind an edge without cache. */
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../../../packages/simulator/src/index.ts'
import { startEdge } from '../../../support/edge.ts'
import type { Write } from './writes.ts'

const PASSWORD = 'only-for-tests'
const NOW = new Date('2026-11-22T10:00:30Z')

export interface Side {
  readonly simulator: Simulator
  ask(request: Write): Promise<unknown>
}

/** Returns the v3 cluster and the v4 one. Their agents report one release, so that they report the same data. */
export async function startBoth(t: Test): Promise<readonly [v3: Side, v4: Side]> {
  return [await start(t, 'v3'), await start(t, 'v4')]
}

async function start(t: Test, layout: 'v3' | 'v4'): Promise<Side> {
  const world = { workers: 2, agents: 45, seed: 3, version: '3.11.5', now: () => NOW }
  const simulator = await startSimulator({ ...world, layout, password: PASSWORD, v4: { ownCacheMs: 0 } })
  t.teardown(() => simulator.close())
  const access = { limits: { requestsPerSecond: 100_000 } }
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    settings: { cluster: { layout, limits: { perMinute: 0 } }, cache: { enabled: false }, access },
  })
  t.teardown(() => edge.close())
  return {
    simulator,
    ask: async ({ method, path, type, body }) => {
      const authorization = edge.authorization('admin')
      const headers = { authorization, ...(type === undefined ? {} : { 'content-type': type }) }
      const response = await fetch(edge.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
      const text = await response.text()
      return { status: response.status, body: read(text) }
    },
  }
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns the paths at which two values differ, with both values. Lists of texts are compared without their order. */
export function differences(a: unknown, b: unknown, path = ''): string[] {
  if (isTexts(a) && isTexts(b)) return same(a.toSorted(), b.toSorted(), path)
  if (Array.isArray(a) && Array.isArray(b)) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, at) =>
      differences(a[at], b[at], `${path}[]`),
    ).flat()
  }
  if (isObject(a) && isObject(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    return names.flatMap((name) => differences(a[name], b[name], `${path}.${name}`))
  }
  return same(a, b, path)
}

function same(a: unknown, b: unknown, path: string): string[] {
  const [left, right] = [JSON.stringify(a) ?? 'nothing', JSON.stringify(b) ?? 'nothing']
  return left === right ? [] : [`${path}: ${left.slice(0, 80)} <> ${right.slice(0, 80)}`]
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What writes change in a cluster. */
export function stateOf({ world }: Simulator): unknown {
  const agents = [...world.agents.values()].map(
    ({ id, name, ip, groups, version, key, cleared, lastScan, restarts }) => {
      return [id, { name, ip, groups, version, key, cleared: [...cleared], lastScan, restarted: restarts > 0 }]
    },
  )
  const groups = [...world.groups.values()].map(({ name, files }) => [name, Object.fromEntries(files)])
  const nodes = world.nodes.map(({ name, restarts, files }) => [name, { restarts, files: [...files.keys()] }])
  return { agents: Object.fromEntries(agents), groups: Object.fromEntries(groups), nodes: Object.fromEntries(nodes) }
}
