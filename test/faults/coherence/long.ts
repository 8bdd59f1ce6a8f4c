/**
 * The long coherence checks (`npm run check:coherence`): 50,000 operations under faults without a violation, as many whose
 * reads are computed from snapshots, as many of clients of both contracts in front of the v4 layout, as many of each of
 * these in the worst hour (outages of all nodes and of Redis, with stale responses), as many while single links have faults,
 * with two and with three replicas, recorded runs that must be executions of the specification, then as many for each planted
 * defect, each of which must cause a violation. `npm run check:protocol` explores the protocol itself.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions } from '../../support/script-options.ts'
import { checkTrace } from '../protocol/traces.ts'
import { linkFaults } from './links.ts'
import type { Counted } from './load.ts'
import { IMPATIENT, ofSnapshots, planted, worstHourPlanted } from './planted.ts'
import { describe, missingProofs, type Report, type RunOptions, run } from './run.ts'

const parts = [
  'protocol',
  'snapshots',
  'contracts',
  'worst hour',
  'links',
  'traces',
  ...Object.keys(planted),
  'no bypass',
]
const { values, refuse } = readOptions({
  name: 'check:coherence',
  purpose: `Checks the coherence protocol. Parts: ${parts.join(', ')}.`,
  options: {
    operations: { kind: 'number', meaning: 'reads and writes of each run (default 50000)' },
    seconds: {
      kind: 'number',
      value: 'SECONDS',
      meaning: 'end each run after this time instead, as soon as what proves it has happened',
    },
    seed: { kind: 'number', meaning: 'seed of the random choices' },
    only: { kind: 'text', value: 'PART', meaning: 'run this part only' },
    beside: {
      kind: 'text',
      value: 'FOLDER',
      meaning: 'the first of three replicas runs this other build (part protocol)',
    },
    fault: {
      kind: 'text',
      value: 'FAULT',
      meaning: `inject this fault only, such as "replica paused"; for links: ${Object.keys(linkFaults).join(', ')}`,
    },
  },
})
const { operations = 50_000, seed = Date.now() % 1_000_000, seconds = Number.POSITIVE_INFINITY, fault, beside } = values
const only = values.only ?? (beside === undefined ? undefined : 'protocol')
if (beside !== undefined && !existsSync(join(beside, 'cli.js'))) refuse(`${beside} contains no cli.js`)
if (fault !== undefined && Object.hasOwn(linkFaults, fault) !== (only === 'links'))
  refuse(`"${fault}" is a fault of ${only === 'links' ? 'another part' : 'part links'}`)
if (only !== undefined && !parts.includes(only)) refuse(`there is no part "${only}"`)
const size = { operations, seed, seconds }
const failed: string[] = []
/** Share of the reads in part `snapshots` that are computed; the others find no snapshot that is valid. */
const MIN_DERIVED = 0.05
/** The same in the worst hour, of each way in which reads are served without a node or Redis. */
const MIN_OF_EACH = { registers: 0.001, snapshots: 0.006 }
/** A part goes on until what it is about has happened, for at most this many times its operations or seconds. */
const MAX_EXTENSION = 5
/** Operations of a run that is recorded as a whole. */
const MAX_TRACED = 5000

function report(check: string, passed: boolean): void {
  console.log(`${passed ? 'ok' : 'NOT OK'} – ${check}\n`)
  if (!passed) failed.push(check)
}

const isExtended = ({ reads, unanswered }: Counted) => reads + unanswered > MAX_EXTENSION * operations

/** Each replica has its own links. */
async function checkLinks(replicas: number, worstHour = false): Promise<void> {
  const until = (counted: Counted) => !worstHour || counted.withoutRedis > 0 || isExtended(counted)
  const found = await run({ ...size, replicas, links: fault ?? true, chaos: false, worstHour, until })
  printReport(found)
  const isRight = found.violations.length === 0 && found.wrongWrites.length === 0
  report(
    `links of ${replicas} replicas${worstHour ? ', stale without Redis' : ''}: no violation, under faults of single links`,
    isRight,
  )
  const missing = missingProofs(found)
  if (worstHour && found.withoutRedis === 0) missing.push('no read without Redis')
  report(
    `links of ${replicas} replicas: the faults had effects${missing.map((each) => `; ${each}`).join('')}`,
    missing.length === 0,
  )
}

function printReport(found: Report): void {
  console.log(describe(found))
  for (const violation of found.violations.slice(0, 10)) console.log(JSON.stringify(violation))
}

interface Proof {
  readonly name: string
  holds(counted: Counted): boolean
}

/** Returns what must have happened for the run to prove what it is about. With --seconds, fewer operations were carried out. */
function proofOf(reads: 'registers' | 'snapshots', worstHour: boolean): Proof {
  const isEach = (share: number, { reads, unanswered }: Counted, counts: readonly number[]) => {
    const least = Math.ceil(share * Math.min(operations, reads + unanswered))
    return counts.every((count) => count >= least)
  }
  if (worstHour && fault === undefined) {
    const share = MIN_OF_EACH[reads]
    return reads === 'registers'
      ? {
          name: `${100 * share} % of the reads are served in an outage, as many without Redis`,
          holds: (counted) => isEach(share, counted, [counted.inOutage, counted.withoutRedis]),
        }
      : {
          name: `${100 * share} % of the reads are computed from snapshots, as many in an outage, and without Redis`,
          holds: (counted) =>
            isEach(share, counted, [counted.derived, counted.derivedInOutage, counted.derivedWithoutRedis]),
        }
  }
  if (reads === 'snapshots')
    return {
      name: `${100 * MIN_DERIVED} % of the reads are computed from snapshots`,
      holds: (counted) => isEach(MIN_DERIVED, counted, [counted.derived]),
    }
  return { name: 'reads are hits', holds: ({ hits }) => hits > 0 }
}

/** With --seconds, the time takes the place of the operations. It begins with the first answer. */
function limitOf(until: (counted: Counted) => boolean): Pick<RunOptions, 'operations' | 'seconds' | 'until'> {
  if (values.seconds === undefined) return { operations, until }
  let begin: number | undefined
  const isOver = () => {
    begin ??= performance.now()
    return performance.now() - begin >= seconds * 1000
  }
  return { operations: 0, seconds: seconds * MAX_EXTENSION, until: (counted) => isOver() && until(counted) }
}

async function checkProtocol(
  reads: 'registers' | 'snapshots',
  contracts: 'v3' | 'both' = 'v3',
  worstHour = false,
): Promise<void> {
  const proof = proofOf(reads, worstHour)
  const until = (counted: Counted) => proof.holds(counted) || isExtended(counted)
  const limit = limitOf(until)
  const found = await run({ ...size, ...limit, chaos: fault ?? true, beside, reads, contracts, worstHour })
  printReport(found)
  const isRight = found.violations.length === 0 && found.wrongWrites.length === 0
  const name = `contracts: ${contracts}, reads of ${reads}${worstHour ? ', the worst hour' : ''}`
  report(`${name}: no violation, under faults`, isRight)
  report(`${name}: ${proof.name}`, proof.holds(found))
}

/** Without faults that end a process: the record of Redis ends with it. */
async function checkTraces(replicas: number): Promise<void> {
  for (const faults of [{ chaos: 'replica paused' }, { chaos: 'Redis paused' }, { chaos: false, links: true }]) {
    const found = await run({
      ...size,
      operations: Math.min(operations, MAX_TRACED),
      replicas,
      ...faults,
      isRecorded: true,
    })
    console.log(describe(found))
    const { events, violations, actions } = checkTrace(found.recording ?? { events: [] })
    for (const violation of violations.slice(0, 3)) console.log(`${violation.join('\n')}\n`)
    const result = violations.length === 0 ? 'all behaviours of the specification' : `${violations.length} keys are not`
    report(
      `traces of ${replicas} replicas, ${JSON.stringify(faults)}: ${events} events, ${actions.size} actions, ${result}`,
      violations.length === 0 && found.violations.length === 0,
    )
  }
}

async function checkPlanted(defect: string): Promise<void> {
  const reads = ofSnapshots.includes(defect) ? 'snapshots' : 'registers'
  const own = worstHourPlanted[defect] ?? { links: defect === IMPATIENT && 'latency' }
  const isWorstHour = Object.hasOwn(worstHourPlanted, defect)
  const counts = 'chaos' in own || own.links ? [2, 3] : [3]
  const v3 = counts.map((replicas) => [replicas, 'v3'] as const)
  // Only nodes of the v3 layout have a cache to bypass.
  const runs = defect === 'no bypass' ? v3 : [...v3, [3, 'both'] as const]
  for (const [replicas, contracts] of runs) {
    const found = await run({
      ...size,
      chaos: false,
      fault: defect,
      reads,
      replicas,
      contracts,
      worstHour: isWorstHour,
      ...own,
    })
    console.log(describe(found))
    report(
      `planted: ${defect}, ${replicas} replicas, contracts: ${contracts}, found in ${found.seconds.toFixed(1)} s`,
      found.violations.length > 0,
    )
  }
}

console.log(`seed ${seed}`)
for (const part of parts) {
  if (only !== undefined && only !== part) continue
  if (part === 'protocol') await checkProtocol('registers')
  else if (part === 'snapshots') await checkProtocol('snapshots')
  else if (part === 'contracts') {
    await checkProtocol('registers', 'both')
    await checkProtocol('snapshots', 'both')
  } else if (part === 'worst hour') {
    for (const reads of ['registers', 'snapshots'] as const)
      for (const contracts of ['v3', 'both'] as const) await checkProtocol(reads, contracts, true)
    if (fault === undefined) await checkLinks(2, true)
  } else if (part === 'traces') for (const replicas of [2, 3]) await checkTraces(replicas)
  else if (part === 'links') for (const replicas of [2, 3]) await checkLinks(replicas)
  else await checkPlanted(part)
}
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
