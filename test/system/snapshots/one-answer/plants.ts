/** Faults that answers from snapshots have had. Each is planted in the compared answer, and must be found. */
import { createEngine, type Engine, type EngineCollection } from '../../../support/engine/collections.ts'
import type { EngineItem, Outcome } from '../../../support/engine/outcome.ts'

type Query = Readonly<Record<string, string>>

export interface Plant {
  readonly fault: string
  readonly path: string
  /** Absent: no fault, and no difference. */
  readonly prepare?: (collection: EngineCollection, rows: readonly EngineItem[], engine: Engine) => Engine
}

const REFUSED_STATUS = 1603

export const PLANTS: readonly Plant[] = [
  { fault: 'none', path: '/syscheck/001' },
  { fault: 'none', path: '/cluster/nodes' },
  { fault: 'a search finds dates as they are shown', path: '/syscheck/001', prepare: withShownDates },
  { fault: 'a search finds dates as they are shown', path: '/rootcheck/001', prepare: withShownDates },
  { fault: 'an OR in q is enclosed', path: '/syscollector/001/netaddr', prepare: withEnclosedOr },
  { fault: 'an OR in q is enclosed', path: '/syscollector/001/processes', prepare: withEnclosedOr },
  { fault: 'an empty page instead of an invalid status', path: '/rootcheck/001', prepare: withEmptyPage },
  { fault: 'the named parameter `all` is a text', path: '/syscollector/001/packages', prepare: withTextOfAll },
  { fault: '`select` hides no fields from q, search and sort', path: '/cluster/nodes', prepare: withLateSelect },
  { fault: 'the total counts the page', path: '/rules', prepare: withTotalOfPage },
]

function withShownDates(collection: EngineCollection, rows: readonly EngineItem[]): Engine {
  if (collection.kind !== 'database') throw new Error('lists have no dates as numbers')
  const { table } = collection.collection
  const columns = Object.fromEntries(
    Object.entries(table.columns).map(([name, { epoch, ...column }]) => [
      name,
      epoch ? { ...column, type: 'TEXT' as const } : column,
    ]),
  )
  return createEngine(
    { kind: 'database', collection: { ...collection.collection, table: { ...table, columns } } },
    rows,
    'ofIndex',
  )
}

function withEnclosedOr(_: EngineCollection, __: readonly EngineItem[], engine: Engine): Engine {
  return changed(engine, (query) => {
    const isBare = query.q?.includes(',') && !query.q.includes('(')
    return isBare ? { ...query, q: `(${query.q})` } : query
  })
}

function withEmptyPage(_: EngineCollection, __: readonly EngineItem[], engine: Engine): Engine {
  return {
    answer: (query, now) => {
      const outcome = engine.answer(query, now)
      const isRefused = outcome.kind === 'error' && outcome.code === REFUSED_STATUS
      return isRefused ? { kind: 'page', items: [], totalItems: 0 } : outcome
    },
  }
}

function withTextOfAll(_: EngineCollection, __: readonly EngineItem[], engine: Engine): Engine {
  return changed(engine, (query) => {
    return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, value === 'all' ? 'All' : value]))
  })
}

function withLateSelect(_: EngineCollection, __: readonly EngineItem[], engine: Engine): Engine {
  return {
    answer: ({ select, ...query }, now) => {
      const outcome = engine.answer(query, now)
      if (select === undefined || outcome.kind !== 'page')
        return engine.answer(select === undefined ? query : { ...query, select }, now)
      const names = select.split(',')
      const items = outcome.items.map((item) => {
        return Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name)))
      })
      return { ...outcome, items }
    },
  }
}

function withTotalOfPage(_: EngineCollection, __: readonly EngineItem[], engine: Engine): Engine {
  return {
    answer: (query, now): Outcome => {
      const outcome = engine.answer(query, now)
      return outcome.kind === 'page' ? { ...outcome, totalItems: outcome.items.length } : outcome
    },
  }
}

function changed(engine: Engine, change: (query: Query) => Query): Engine {
  return { answer: (query, now) => engine.answer(change(query), now) }
}
