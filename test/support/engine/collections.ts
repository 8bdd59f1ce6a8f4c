/** The collections of a manager by the path of the request, and how its engine answers them. */

import { inventoryKinds } from '../../../src/contracts/v3/inventories.ts'
import { type DatabaseCollection, EngineDatabase, type Ties } from './database.ts'
import { answerFromMemory, type MemoryCollection } from './memory.ts'
import { type EngineItem, type EngineRow, type Outcome, outcomeOf } from './outcome.ts'
import { engineTables, type TableName } from './tables.ts'

export type EngineCollection =
  | { readonly kind: 'database'; readonly collection: DatabaseCollection }
  | { readonly kind: 'memory'; readonly collection: MemoryCollection }

const AGENT_STATES = {
  values: ['active', 'disconnected', 'pending', 'neverconnected'],
  code: 1729,
  ofAgents: true,
} as const
const ENABLED = { allowed: { values: ['enabled', 'disabled'], code: 1202 }, everything: 'all' } as const
const FILES: MemoryCollection = { order: ['file'], filters: { status: ENABLED } }
const DECODERS: MemoryCollection = {
  order: ['file', 'position'],
  sortable: ['file', 'path', 'name', 'position', 'status'],
  filters: { status: ENABLED },
}
const TEXTS: MemoryCollection = { order: [], refusesQ: true }
const LOGS: MemoryCollection = {
  sortable: ['timestamp', 'tag', 'level', 'description'],
  filters: { type_log: { field: 'level', everything: 'all' }, category: { field: 'tag', everything: 'all' } },
}
const NODE_FIELDS = ['name', 'type', 'version', 'ip']

function table(name: TableName): EngineCollection {
  return { kind: 'database', collection: { table: engineTables[name] } }
}

function agents(fixed?: string): EngineCollection {
  const collection = { table: engineTables.agents, states: AGENT_STATES }
  return { kind: 'database', collection: fixed === undefined ? collection : { ...collection, fixed } }
}

function memory(collection: MemoryCollection): EngineCollection {
  return { kind: 'memory', collection }
}

const byPath: readonly (readonly [RegExp, (parts: readonly string[]) => EngineCollection])[] = [
  [/^\/agents$/, () => agents()],
  [/^\/agents\/no_group$/, () => agents('id!=0;group=null')],
  [/^\/agents\/groups$/, () => memory({ order: ['name'], searchable: ['name'] })],
  [/^\/agents\/groups\/([^/]+)$/, ([group = '']) => agents(`group=${group}`)],
  [/^\/agents\/groups\/[^/]+\/files$/, () => memory({ order: ['filename'] })],
  [/^\/cluster\/nodes$/, () => memory(nodes())],
  [/^\/(?:manager|cluster\/[^/]+)\/logs$/, () => memory(LOGS)],
  [/^\/rules(?:\/\d+)?$/, () => memory(rules())],
  [/^\/rules\/files$/, () => memory(FILES)],
  [/^\/rules\/(?:groups|pci|gdpr|gpg13|hipaa|nist-800-53)$/, () => memory(TEXTS)],
  [/^\/decoders\/files$/, () => memory(FILES)],
  [/^\/decoders(?:\/[^/]+)?$/, () => memory(DECODERS)],
  [/^\/lists$/, () => memory({ cutsFirst: true, sortable: ['path'], searchable: ['path'] })],
  [/^\/lists\/files$/, () => memory({ cutsFirst: true, sortable: ['path', 'name'], searchable: ['path', 'name'] })],
  [/^\/syscheck\/\d+$/, () => table('syscheck')],
  [/^\/rootcheck\/\d+\/(?:cis|pci)$/, () => memory(TEXTS)],
  [/^\/rootcheck\/\d+$/, () => rootcheck()],
  [/^\/sca\/\d+$/, () => table('sca')],
  [/^\/ciscat\/\d+\/results$/, () => table('ciscat')],
  [new RegExp(`^/syscollector/\\d+/(${inventoryKinds.join('|')})$`), ([kind]) => table(kind as TableName)],
]

function nodes(): MemoryCollection {
  const type = { allowed: { values: ['master', 'worker'], code: 1728 }, everything: 'all' }
  return { sortable: NODE_FIELDS, selectable: NODE_FIELDS, filters: { type } }
}

function rules(): MemoryCollection {
  return {
    order: ['id'],
    sortable: ['file', 'path', 'description', 'id', 'level', 'status'],
    filters: { status: ENABLED, level: { range: true }, group: { field: 'groups' } },
  }
}

function rootcheck(): EngineCollection {
  const states = { values: ['outstanding', 'solved'], code: 1603 }
  return { kind: 'database', collection: { table: engineTables.rootcheck, states } }
}

/** Returns the collection of a path, with agent ids of three digits; undefined: the path is no collection. */
export function engineCollectionOf(path: string): EngineCollection | undefined {
  for (const [pattern, create] of byPath) {
    const [whole, ...parts] = pattern.exec(path) ?? []
    if (whole !== undefined) return create(parts)
  }
  return undefined
}

/** One collection with its rows. */
export interface Engine {
  answer(query: Readonly<Record<string, string>>, now: Date): Outcome
}

/** `rows`: all rows as the API returns them, in their order in the source. */
export function createEngine(described: EngineCollection, rows: readonly EngineItem[], ties: Ties = 'ofTable'): Engine {
  if (described.kind === 'memory') {
    return { answer: (query) => outcomeOf(() => answerFromMemory(rows, query, described.collection)) }
  }
  const database = new EngineDatabase(described.collection, rows as readonly EngineRow[], ties)
  return { answer: (query, now) => outcomeOf(() => database.answer(query, now)) }
}
