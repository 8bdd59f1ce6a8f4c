/**
 * Compares the whole edge with receiving and joining alone: the CPU time of a fresh joined response, in alternation over
 * the same nodes. Each response of the edge is compared with that of the join alone, byte by byte.
 */

import type { Running } from '../contenders.ts'
import { cpuOf } from '../load.ts'
import { checkResponse, WrongResponseError } from '../verify.ts'
import { caller, JOINED } from './edge.ts'
import { cost, medianOf } from './measure.ts'
import type { Page, Way, Ways } from './ways.ts'

const PAGE: Page = { offset: 0, limit: 500 }
const WARM = 10
/** The CPU time of another process is counted in steps of 10 ms, so it is read once for several responses. */
const RESPONSES_PER_ROUND = 5

/** CPU times in milliseconds for one response: medians, and the median of the ratios of each round. */
export interface WholeCost {
  readonly edge: number
  readonly unsorted: number
  readonly sorted: number
  /** The edge to receiving and joining rows that are sorted as the edge sorts them. */
  readonly ratio: number
  readonly unsortedToSorted: number
}

/** The edge asks each node without a sort, so the join alone that has the same work is the unsorted one. */
export async function compareWhole(
  edge: Running,
  { joining, unsorted }: Pick<Ways, 'joining' | 'unsorted'>,
  nodes: number,
  rounds: number,
): Promise<WholeCost> {
  const { ask, close } = caller(edge.url)
  const expected = (await unsorted.run(nodes, PAGE)).body
  const fetchFresh = async () => {
    const reply = await ask(`${JOINED}&sort=%2Bscan_id`, true)
    checkResponse('joined, fresh', { status: 200, length: expected?.length ?? 0, cacheStatus: /fwd=/ }, reply)
    if (!expected?.equals(reply.body)) throw new WrongResponseError(`joined: ${reply.body.toString('utf8', 0, 300)}`)
  }
  for (let turn = 0; turn < WARM; turn++) await fetchFresh()
  const all: Omit<WholeCost, 'ratio' | 'unsortedToSorted'>[] = []
  for (let turn = -2; turn < rounds; turn++) {
    const before = await cpuOf(edge.pid)
    for (let at = 0; at < RESPONSES_PER_ROUND; at++) await fetchFresh()
    const used = ((await cpuOf(edge.pid)) - before) / 1000 / RESPONSES_PER_ROUND
    const round = { edge: used, unsorted: await costOf(unsorted, nodes), sorted: await costOf(joining, nodes) }
    if (turn >= 0) all.push(round)
  }
  await close()
  return {
    edge: medianOf(all.map(({ edge }) => edge)),
    unsorted: medianOf(all.map(({ unsorted }) => unsorted)),
    sorted: medianOf(all.map(({ sorted }) => sorted)),
    ratio: medianOf(all.map(({ edge, unsorted }) => edge / unsorted)),
    unsortedToSorted: medianOf(all.map(({ unsorted, sorted }) => unsorted / sorted)),
  }
}

async function costOf(way: Way, nodes: number): Promise<number> {
  let sum = 0
  for (let at = 0; at < RESPONSES_PER_ROUND; at++) sum += (await cost(way, nodes, PAGE)).cpu
  return sum / RESPONSES_PER_ROUND
}
