/** R12 and R13: no replica serves an older value after a write, and no read goes backwards, under faults. */
import { type Report, run } from '../../coherence/run.ts'
import { effect, type FaultPromise, figure, type RunContext } from '../promise.ts'

const OPERATIONS = 50_000
/** The faults of a run are drawn one after the other, so a short run may have only some of them. */
const LEAST_FAULTS = 3

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

export const coherencePromises: readonly FaultPromise[] = [
  promiseOf('R12', 'After a 200 on a write no replica serves the older value', ['stale', 'early']),
  promiseOf('R13', 'Reads across replicas never go backwards', ['backwards']),
]
