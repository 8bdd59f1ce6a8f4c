import { readFileSync } from 'node:fs'
import { initialFiles } from '../src/data/files.ts'
import { ciscatHandlers } from '../src/handlers/ciscat.ts'
import { fileHandlers } from '../src/handlers/files.ts'
import { inventoryHandlers } from '../src/handlers/inventory.ts'
import { listHandlers } from '../src/handlers/lists.ts'
import { managerHandlers } from '../src/handlers/manager.ts'
import { rulesetHandlers } from '../src/handlers/ruleset.ts'
import { scaHandlers } from '../src/handlers/sca.ts'
import { scanHandlers } from '../src/handlers/scans.ts'
import { FrameworkError, type SimHandlers, type SimRequest, type World } from '../src/model.ts'
import { createWorld, type WorldOptions } from '../src/world.ts'

const handlers: SimHandlers = {
  ...rulesetHandlers,
  ...listHandlers,
  ...fileHandlers,
  ...managerHandlers,
  ...inventoryHandlers,
  ...scanHandlers,
  ...scaHandlers,
  ...ciscatHandlers,
}

export const NOON = new Date('2020-03-02T12:30:00Z')

/** A small world whose clock does not advance, with the files of each node. */
export function makeWorld(options: WorldOptions = {}): World {
  const world = createWorld({ agents: 40, now: () => NOON, ...options })
  for (const { name, type, files } of world.nodes) {
    const identity = { name, type, clusterKey: world.clusterKey, master: '10.0.0.10' }
    for (const [path, text] of initialFiles(world.seed, identity)) files.set(path, text)
  }
  return world
}

export type Item = Readonly<Record<string, unknown>>

/** The response of any handler, in the form that most tests expect. */
export interface Data extends Item {
  readonly items: Item[]
  readonly totalItems: number
}

interface Circumstances {
  readonly node?: string
  readonly query?: Record<string, string>
  readonly params?: Record<string, string>
  readonly text?: string
}

/** Calls a handler as the node would after its filters: `ask(world, 'GET /rules', { query })`. */
export function ask(world: World, key: string, { node = 'master', ...given }: Circumstances = {}): Data {
  const known = world.nodes.find(({ name }) => name === node)
  const handler = handlers[key]
  if (known === undefined || handler === undefined) throw new Error(`No ${node} or no ${key}`)
  const request: SimRequest = { world, node: known, params: {}, query: {}, fields: {}, text: '', client: '', ...given }
  return handler(request) as Data
}

/** Returns the code of the refusal; undefined if there is none. */
export function refusalOf(attempt: () => unknown): number | undefined {
  try {
    attempt()
    return undefined
  } catch (refusal) {
    if (refusal instanceof FrameworkError) return refusal.code
    throw refusal
  }
}

/** Returns the dotted names of all fields of an object, without those inside lists. */
export function fieldsOf(value: object, before = ''): string[] {
  return Object.entries(value).flatMap(([name, part]) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? fieldsOf(part, `${before}${name}.`)
      : [before + name],
  )
}

let exchanges: readonly Exchange[] = []

function recorded(): readonly Exchange[] {
  if (exchanges.length === 0) {
    exchanges = ['real-cluster', 'three-nodes'].flatMap((file) =>
      readFileSync(`test/contract/exchanges/${file}.jsonl`, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Exchange),
    )
  }
  return exchanges
}

/** Returns the fields of all recorded responses to requests of this path. */
export function recordedFields(path: RegExp): Set<string> {
  const fields = new Set<string>()
  for (const { request, response } of recorded()) {
    if (request.method !== 'GET' || !path.test(request.path) || response.status !== 200) continue
    const data = readData(response.body)
    const items = Array.isArray(data?.items) ? (data.items as object[]) : data === undefined ? [] : [data]
    for (const item of items) for (const field of fieldsOf(item)) fields.add(field)
  }
  return fields
}

interface Exchange {
  readonly request: { readonly method: string; readonly path: string }
  readonly response: { readonly status: number; readonly body: string }
}

function readData(body: string): Item | undefined {
  const data = body.startsWith('{') ? (JSON.parse(body) as { data?: unknown }).data : undefined
  return typeof data === 'object' && data !== null ? (data as Item) : undefined
}
