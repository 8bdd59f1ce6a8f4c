/** The collections of a manager by the path of the request, and how its engine answers them. */

import { inventoryKinds } from '../../../src/contracts/v3/inventories.ts'
import { type Collection, collections } from './arrays.ts'
import { type DatabaseCollection, EngineDatabase, type Ties } from './database.ts'
import { answerFromMemory } from './memory.ts'
import { type EngineItem, type EngineRow, type Outcome, outcomeOf } from './outcome.ts'
import { engineTables, type TableName } from './tables.ts'

export type EngineCollection =
  | { readonly kind: 'database'; readonly collection: DatabaseCollection }
  | { readonly kind: 'memory'; readonly collection: Collection }

const AGENT_STATES = {
  values: ['active', 'disconnected', 'pending', 'neverconnected'],
  code: 1729,
  ofAgents: true,
} as const

function table(name: TableName): EngineCollection {
  return { kind: 'database', collection: { table: engineTables[name] } }
}

function agents(fixed?: string): EngineCollection {
  const collection = { table: engineTables.agents, states: AGENT_STATES }
  return { kind: 'database', collection: fixed === undefined ? collection : { ...collection, fixed } }
}

function memory(name: string): EngineCollection {
  const collection = collections[name]
  if (collection === undefined) throw new Error(`no collection ${name}`)
  return { kind: 'memory', collection }
}

const byPath: readonly (readonly [RegExp, (parts: readonly string[]) => EngineCollection])[] = [
  [/^\/agents$/, () => agents()],
  [/^\/agents\/no_group$/, () => agents('id!=0;group=null')],
  [/^\/agents\/groups$/, () => memory('groups')],
  [/^\/agents\/groups\/([^/]+)$/, ([group = '']) => agents(`group=${group}`)],
  [/^\/agents\/groups\/[^/]+\/files$/, () => memory('groupFiles')],
  [/^\/cluster\/nodes$/, () => memory('nodes')],
  [/^\/(?:manager|cluster\/[^/]+)\/logs$/, () => memory('logs')],
  [/^\/rules(?:\/\d+)?$/, () => memory('rules')],
  [/^\/rules\/files$/, () => memory('ruleFiles')],
  [/^\/rules\/(?:groups|pci|gdpr|gpg13|hipaa|nist-800-53)$/, () => memory('catalogue')],
  [/^\/decoders\/files$/, () => memory('decoderFiles')],
  [/^\/decoders(?:\/[^/]+)?$/, () => memory('decoders')],
  [/^\/lists$/, () => memory('lists')],
  [/^\/lists\/files$/, () => memory('listFiles')],
  [/^\/syscheck\/\d+$/, () => table('syscheck')],
  [/^\/rootcheck\/\d+\/(?:cis|pci)$/, () => memory('requirements')],
  [/^\/rootcheck\/\d+$/, () => rootcheck()],
  [/^\/sca\/\d+$/, () => table('sca')],
  [/^\/ciscat\/\d+\/results$/, () => table('ciscat')],
  [new RegExp(`^/syscollector/\\d+/(${inventoryKinds.join('|')})$`), ([kind]) => table(kind as TableName)],
]

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
