/** The rows of bench:cluster for responses that are computed from a snapshot. */

import { parseCollectionRequest } from '../../../src/query/request.ts'
import { sources } from '../../../src/query/sources.ts'
import { answerFrom, readParts } from '../../../src/rows/queried-rows.ts'
import { measureTurns } from '../../support/event-loop.ts'
import { partsOf } from '../../support/snapshots.ts'
import { inUse, medianOf, settleMemory } from '../cluster/measure.ts'
import { type Goal, printTable, round } from '../cluster/report.ts'
import { measureDerived } from './edge.ts'
import { kindsOf } from './queries.ts'
import { agentRow } from './rows.ts'

type Say = (text: string) => void

/** Rows, and the goal for the median in milliseconds. */
const SIZES = [
  [5000, 1],
  [100_000, 5],
] as const
const LARGEST = 100_000
/** Times as long as the first page. */
const MAX_DEEPER = 2
const MAX_BLOCK_MS = 10
/** The first run has cold code, and garbage is collected in some turn of some run. */
const RUNS = 5

export async function derivedRows(quick: boolean, say: Say): Promise<Goal[]> {
  const goals: Goal[] = []
  const table = new Map<string, string[]>()
  const add = (row: string, cell: string) => table.set(row, [...(table.get(row) ?? []), cell])
  for (const [total, goal] of SIZES) {
    const { byKind, stored, byOffset, cpu } = await measureDerived(total, quick ? 20 : 100)
    for (const [kind, times] of byKind) add(kind, cell(times))
    const all = [...byKind.values()].flat()
    add('all of them', cell(all))
    add('a stored page, for comparison', cell(stored))
    add('CPU of the edge for each', round(cpu))
    for (const [offset, times] of byOffset) add(`offset ${offset}`, cell(times))
    goals.push({ name: `computed from ${total} rows, median in ms`, is: medianOf(all), byCpu: cpu, goal, way: 'most' })
    const [first = Number.NaN, ...deeper] = [...byOffset.values()].map(medianOf)
    const ratio = Math.max(...deeper) / first
    goals.push({ name: `deep pages of ${total} rows, in first pages`, is: ratio, goal: MAX_DEEPER, way: 'most' })
  }
  const columns = SIZES.map(([total]) => `${total} rows`)
  printTable('from a snapshot, ms (median · longest)', columns, table, say)
  const { memory, block, reading } = await measureRows()
  say(`\n${LARGEST} rows in memory: text ${round(memory.text)} MB, with columns ${round(memory.read)} MB,`)
  say(`after a sort by each field ${round(memory.sorted)} MB; read in ${round(reading)} ms of CPU`)
  goals.push({ name: `${LARGEST} rows: longest turn, ms of CPU`, is: block, goal: MAX_BLOCK_MS, way: 'most' })
  return goals
}

function cell(times: readonly number[]): string {
  return `${round(medianOf(times))} · ${round(Math.max(...times))}`
}

interface RowFigures {
  /** Megabytes. */
  readonly memory: { readonly text: number; readonly read: number; readonly sorted: number }
  readonly block: number
  readonly reading: number
}

/** Measures the memory of a snapshot, and the longest turn of reading it and of the queries. */
async function measureRows(): Promise<RowFigures> {
  await settleMemory()
  const before = inUse()
  const used = async () => {
    await settleMemory()
    return (inUse() - before) / 1e6
  }
  const parts = partsOf(Array.from({ length: LARGEST }, (_, at) => agentRow(at)))
  const text = await used()
  const first = await readParts(parts, sources.agents)
  const read = await used()
  for (const sort of Object.keys(sources.agents.fields)) {
    await answerFrom(first, { source: sources.agents, collection: parseCollectionRequest({ sort }, new Date()) })
  }
  const sorted = await used()
  if (first.table.length !== LARGEST) throw new Error(`${first.table.length} rows were read`)
  const blocks: number[] = []
  const readings: number[] = []
  for (let run = 0; run < RUNS; run += 1) {
    const used = process.cpuUsage()
    const { value: rows, longest } = await measureTurns(() => readParts(parts, sources.agents))
    const { user, system } = process.cpuUsage(used)
    readings.push((user + system) / 1000)
    const all = [longest]
    for (const kind of Object.values(kindsOf(LARGEST))) {
      const collection = parseCollectionRequest(kind(run).query, new Date())
      all.push((await measureTurns(() => answerFrom(rows, { source: sources.agents, collection }))).longest)
    }
    blocks.push(Math.max(...all))
  }
  return { memory: { text, read, sorted }, block: medianOf(blocks), reading: medianOf(readings) }
}
