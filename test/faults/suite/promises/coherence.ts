/**
 * R12 and R13: no replica serves an older value after a write, and no read goes backwards, under faults. R27: the same while
 * single links have faults. R30: a slow node gives as many answers as with the best fixed limit, and makes no read stale.
 */
import { compare, ROWS } from '../../../unit/upstream/limit-rows.ts'
import { IMPATIENT } from '../../coherence/planted.ts'
import { missingProofs, type Report, run } from '../../coherence/run.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'

const OPERATIONS = 50_000
/** The faults of a run are drawn one after the other, so a short run may have only some of them. */
const LEAST_FAULTS = 3

/**
 * Figures of a run of the coherence check with one fault of the worst hour, and with stale responses in an outage and without
 * Redis. In a planted run, the store sets no write fence.
 */
export async function coherenceDuring(
  { seed, planted, count }: RunContext,
  fault: string,
  served?: 'inOutage' | 'withoutRedis',
): Promise<readonly Figure[]> {
  const faults = planted ? { fault: 'no fence' } : { chaos: fault }
  const operations = count(OPERATIONS / 5, 2000)
  const report = await run({ operations, seconds: 300, seed, worstHour: true, chaos: false, ...faults })
  const { violations, wrongWrites, reads, writes } = report
  const times = report.faults[fault] ?? 0
  return [
    ...(planted ? [] : [effect(`${fault}, in another run`, times, times > 0)]),
    ...(planted || served === undefined ? [] : [effect(`${fault}: reads`, report[served], report[served] > 0)]),
    figure(`${fault}: wrong reads of ${reads}, with ${writes} writes`, violations.length, '0', violations.length === 0),
    none(`${fault}: writes sent although refused, or twice`, wrongWrites),
  ]
}

/** The rows of `npm run bench:limits`. All times are virtual, and too little of them shows nothing. */
async function comparedLimits(): Promise<Figure> {
  const failed: string[] = []
  for (const row of ROWS) {
    const { passes } = await compare(row)
    if (!passes) failed.push(`${row.kind} ${row.time} ms × ${row.workers}`)
  }
  return none(`managers of ${ROWS.length} for which a fixed limit is better`, failed)
}

/** One history serves both promises if both are checked in one run of the suite. */
const reports = new Map<string, Promise<Report>>()

function historyOf({ scale, seed, planted, count }: RunContext): Promise<Report> {
  const name = `${scale} ${seed} ${planted}`
  const operations = count(OPERATIONS, 2000)
  const options = planted ? { chaos: false, fault: 'no fence', replicas: 2 } : { chaos: true }
  const report = reports.get(name) ?? run({ operations, seed, ...options })
  reports.set(name, report)
  return report
}

function promiseOf(id: string, title: string, kinds: readonly string[]): FaultPromise {
  return {
    id,
    title,
    planted: 'the store sets no write fence',
    async run(context) {
      const report = await historyOf(context)
      const faults = Object.values(report.faults).reduce((sum, times) => sum + times, 0)
      const found = report.violations.filter(({ kind }) => kinds.includes(kind))
      const name = `${kinds.join(' and ')} reads of ${report.reads}, with ${report.writes} writes`
      return [
        ...(context.planted ? [] : [effect('faults injected', faults, faults >= LEAST_FAULTS)]),
        figure(name, found.length, '0', found.length === 0),
        figure('reads that were cache hits', report.hits, '> 0', report.hits > 0),
      ]
    },
  }
}

const linkPromise: FaultPromise = {
  id: 'R27',
  title: 'One slow or broken link makes no read stale',
  planted: 'a writer does not wait for Redis over its slow link',
  async run({ seed, planted, count }) {
    const operations = count(OPERATIONS, 2000)
    const figures: Figure[] = []
    for (const replicas of [2, 3]) {
      const faults = planted ? { fault: IMPATIENT, links: 'latency' } : { links: true }
      const report = await run({ operations, seed, replicas, chaos: false, ...faults })
      const { violations, wrongWrites, reads, writes, refused, hitsDuringLinkFaults } = report
      const missing = missingProofs(report)
      const hits = hitsDuringLinkFaults.all
      const of = `${replicas} replicas`
      if (!planted)
        figures.push(effect(`${of}: hits while a link had a fault`, missing.join('; ') || hits, missing.length === 0))
      const name = `${of}: wrong reads of ${reads}, with ${writes} writes, ${refused} not carried out`
      figures.push(figure(name, violations.length, '0', violations.length === 0))
      figures.push(none(`${of}: writes sent although refused, or twice`, wrongWrites))
    }
    return planted ? figures : [...figures, ...(await partition('call')), ...(await partition('stale'))]

    /** One replica cannot reach Redis, and the other one can. */
    async function partition(withoutRedis: 'call' | 'stale'): Promise<readonly Figure[]> {
      const least = count(OPERATIONS / 5, 500)
      const until = (counted: { readonly withoutRedis: number }) => withoutRedis === 'call' || counted.withoutRedis > 0
      const part = { links: 'partition', worstHour: true, withoutRedis, chaos: false, until } as const
      const report = await run({ operations: least, seconds: 300, seed, replicas: 2, ...part })
      const { violations, wrongWrites, reads, writes, withoutRedis: marked } = report
      const name = `one replica without Redis, ${withoutRedis}`
      const missing = missingProofs(report)
      return [
        effect(`${name}: marked reads`, missing.join('; ') || marked, missing.length === 0 && until(report)),
        figure(
          `${name}: wrong reads of ${reads}, with ${writes} writes`,
          violations.length,
          '0',
          violations.length === 0,
        ),
        none(`${name}: writes sent although refused, or twice`, wrongWrites),
      ]
    }
  },
}

export const coherencePromises: readonly FaultPromise[] = [
  promiseOf('R12', 'After a 200 on a write no replica serves the older value', ['stale', 'early']),
  promiseOf('R13', 'Reads across replicas never go backwards', ['backwards']),
  linkPromise,
  {
    id: 'R30',
    title: 'A slow node gives as many answers as with the best fixed limit, and makes no read stale',
    planted: 'the store sets no write fence',
    run: async (context) => [
      ...(await coherenceDuring(context, 'upstream slow')),
      ...(context.planted ? [] : [await comparedLimits()]),
    ],
  },
]
