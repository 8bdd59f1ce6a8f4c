import { readSorting } from '../../query/order.ts'
import type { Element } from '../../query/value.ts'
import { createPace, PAUSE, type Pace, type Work } from './cooperative.ts'
import { createHeap, type Heap } from './heap.ts'
import type { Joined, JoinedRows, JoinHow, JoinPart } from './join.ts'
import { advance, createCursor } from './rows.ts'
import { compareAll, createKeyReader, type KeyReader, rowAt } from './sort-keys.ts'
import {
  createPages,
  type Head,
  type Lane,
  type Pages,
  PartFault,
  reading,
  type Step,
  sortedLane,
  trustedLane,
} from './sorted-rows.ts'
import { createSplice } from './splice.ts'

/** The merge itself, as work that pauses (pauses.ts): lanes, the heap over their heads, and the page that is cut. */

/** Sorting more at once would hold the event loop. */
const MOST_IN_RUN = 2000
/** Where so many parts were found out of order one after the other, the rest is not tried. */
const MOST_TRIES = 4

interface Merge {
  readonly parts: readonly JoinPart[]
  readonly how: JoinHow
  readonly pages: readonly Pages[]
  readonly reader: KeyReader
  readonly sign: 1 | -1
  readonly distrusted: Set<number>
  readonly pace: Pace
}

export function* merge(parts: readonly JoinPart[], how: JoinHow): Work<Joined> {
  try {
    const sorting = readSorting(how.sort, how.source, firstRow(parts))
    const state: Merge = {
      parts,
      how,
      pages: parts.map(createPages),
      reader: createKeyReader(sorting, how.source),
      sign: sorting?.sign ?? 1,
      distrusted: new Set(),
      pace: createPace(),
    }
    for (let tries = 1; ; tries++) {
      const joined = yield* attempt(state, tries > MOST_TRIES)
      if (joined) return joined
    }
  } catch (error) {
    if (!(error instanceof PartFault)) throw error
    const { part, reason, cause } = error
    return { ok: false, part, reason, ...(cause !== undefined && { cause }) }
  }
}

/** An array source without a list of its own sorts by the fields of its first row. */
function firstRow(parts: readonly JoinPart[]): Element[] {
  for (const [part, { rows }] of parts.entries()) {
    const cursor = createCursor(rows)
    if (reading(part, () => advance(cursor))) return [rowAt(rows.bytes, cursor.from, cursor.to) as Element]
  }
  return []
}

/** Undefined: a part was found out of order; it is in `distrusted` now. */
function* attempt(state: Merge, trustNone: boolean): Work<JoinedRows | undefined> {
  const { parts, how, pace } = state
  const lanes = yield* openLanes(state, trustNone)
  const heap = createHeap<Lane>((a, b) => isBefore(a, b, state))
  for (const lane of lanes) {
    if ((yield* settle(state, lane, lane.step())) === 'row') heap.push(lane)
  }
  const splice = createSplice(parts, how.source, how.drop ?? [])
  const taken = parts.map(() => 0)
  const end = how.limit > 0 ? how.offset + how.limit : 0
  let count = 0
  for (let at = 0; at < end; at++) {
    const lane = heap.top
    if (!lane?.head) break
    if (at >= how.offset) {
      splice.add(lane.head, lane.part)
      taken[lane.part] = (taken[lane.part] ?? 0) + 1
      count++
    }
    if (at + 1 === end) break
    const step = lane.step()
    const settled = step === 'wait' ? yield* settle(state, lane, step) : step
    if (settled === 'wrong') {
      state.distrusted.add(lane.part)
      return undefined
    }
    place(heap, settled)
    if (pace.due()) yield* pause(pace)
  }
  const total = parts.reduce((sum, { rows }) => sum + rows.total, 0)
  return { ok: true, pieces: splice.end(), count, total, taken, distrusted: [...state.distrusted] }
}

function place(heap: Heap<Lane>, step: Step): void {
  if (step === 'row') heap.sink()
  else heap.pop()
}

function isBefore(a: Lane, b: Lane, { sign, how: { before } }: Merge): boolean {
  if (!a.head || !b.head) return a.place < b.place
  const order = sign * compareAll(a.head.keys, b.head.keys, before)
  if (order !== 0) return order < 0
  // Runs of one part.
  const rest = a.part === b.part && before !== undefined ? sign * compareAll(a.head.keys, b.head.keys) : 0
  return rest !== 0 ? rest < 0 : a.place < b.place
}

/** Fetches pages until the lane has a row, or has none. */
function* settle(state: Merge, lane: Lane, first: Step): Work<Step> {
  let step = first
  while (step === 'wait') {
    const pages = state.pages[lane.part]
    if (!pages) return 'end'
    yield pages.fetch()
    state.pace.begin()
    step = lane.step()
  }
  return step
}

function* openLanes(state: Merge, trustNone: boolean): Work<Lane[]> {
  const { parts, pages, reader, sign, distrusted } = state
  const trusted = (part: number) => parts[part]?.trusted === true && !trustNone && !distrusted.has(part)
  const whole = pages.filter((one) => !trusted(one.part) && !one.complete)
  if (whole.length > 0) yield Promise.all(whole.map(fetchAll))
  const lanes: Lane[] = []
  for (const one of pages) {
    if (trusted(one.part)) {
      lanes.push(trustedLane(one, lanes.length, reader, sign))
      continue
    }
    const runs = yield* sortedRuns(state, one)
    for (const run of runs) lanes.push(sortedLane(one.part, lanes.length, run))
  }
  return lanes
}

async function fetchAll(pages: Pages): Promise<void> {
  while (await pages.fetch()) {}
}

/** All rows of a part, each run of them sorted; equal rows stay in their order, within a run and from run to run. */
function* sortedRuns({ reader, sign, pace }: Merge, pages: Pages): Work<Head[][]> {
  const runs: Head[][] = []
  let run: Head[] = []
  for (const page of pages.list) {
    const cursor = createCursor(page)
    while (reading(pages.part, () => advance(cursor, reader.read))) {
      const { from, to, index } = cursor
      run.push({ page, from, to, index, keys: reader.keys(page.bytes, from, to) })
      if (run.length >= MOST_IN_RUN) {
        runs.push(run)
        run = []
      }
      if (pace.due()) yield* pause(pace)
    }
  }
  runs.push(run)
  for (const one of runs) {
    one.sort((a, b) => sign * compareAll(a.keys, b.keys))
    if (pace.due()) yield* pause(pace)
  }
  return runs
}

function* pause(pace: Pace): Work<void> {
  yield PAUSE
  pace.begin()
}
