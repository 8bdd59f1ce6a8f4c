/** The run of a purge: one request, or one for each batch of keys, and the report of what happened. */
import type { PurgeNames, PurgeRequest, PurgeResult } from '../../../../src/status/view-types.ts'
import { formatBytes, formatCount } from '../format.ts'

export interface PurgePlan {
  readonly names: Omit<PurgeNames, 'keys'>
  /** Absent: the names define what is purged. */
  readonly keys?: readonly string[]
  /** Number of keys in one request. */
  readonly maxKeys: number
  readonly soft: boolean
}

export interface PurgeReport extends Pick<PurgeResult, 'entries' | 'bytes' | 'missing' | 'pending'> {
  readonly soft: boolean
  /** Of a purge by key: the number of keys of the plan, and of those that were sent successfully. */
  readonly keys?: { readonly all: number; readonly sent: number; readonly inLastRequest: number }
  /** Why the run ended early. */
  readonly failure?: string
  readonly isStopped?: true
  /** Entries that match the search after the purge. */
  readonly remaining?: number
}

interface RunOptions {
  send(request: PurgeRequest): Promise<PurgeResult>
  /** Receives the number of keys that are purged. */
  onProgress(sent: number): void
  isStopped(): boolean
}

/** Never rejects: a failure is part of the report, beside what was purged before it. */
export async function runPurge(plan: PurgePlan, { send, onProgress, isStopped }: RunOptions): Promise<PurgeReport> {
  const { names, keys, maxKeys, soft } = plan
  const sum = { entries: 0, bytes: 0, missing: 0, pending: false }
  const add = ({ entries, bytes, missing, pending }: PurgeResult): void => {
    sum.entries += entries
    sum.bytes += bytes
    sum.missing += missing
    sum.pending ||= pending
  }
  let sent = 0
  let inLastRequest = 0
  const report = (): PurgeReport => ({
    ...sum,
    soft,
    ...(keys !== undefined && { keys: { all: keys.length, sent, inLastRequest } }),
  })
  try {
    if (keys === undefined) {
      add(await send({ ...names, soft, preview: false }))
      return report()
    }
    while (sent < keys.length) {
      if (isStopped()) return { ...report(), isStopped: true }
      const batch = keys.slice(sent, sent + maxKeys)
      inLastRequest = batch.length
      add(await send({ keys: batch, soft, preview: false }))
      sent += batch.length
      onProgress(sent)
    }
    return report()
  } catch (error) {
    return { ...report(), failure: (error as Error).message }
  }
}

/** Returns the report as sentences. */
export function describeReport(report: PurgeReport): readonly string[] {
  const { soft, keys, failure, entries, bytes, missing, pending, isStopped, remaining } = report
  const done = `${soft ? 'Marked as stale' : 'Removed'}: ${entriesOf(entries)}, ${formatBytes(bytes)}.`
  const sentences: string[] = []
  if (failure !== undefined && keys === undefined) {
    return [`The purge failed: ${failure}.`, 'It may have been carried out. A second purge does no harm.']
  }
  if (keys !== undefined && failure !== undefined) {
    sentences.push(`The purge failed after ${formatCount(keys.sent)} of ${entriesOf(keys.all)}: ${failure}.`)
    sentences.push(`Of the next ${formatCount(keys.inLastRequest)} it is unknown. The others remain.`)
  }
  if (keys !== undefined && isStopped) {
    sentences.push(`Stopped after ${formatCount(keys.sent)} of ${entriesOf(keys.all)}. The others remain.`)
  }
  if (pending) {
    sentences.push(
      'The purge is pending, because Redis is unreachable. This replica carries it out before it uses Redis again. Another replica that reaches Redis may serve the entries until then.',
    )
  } else sentences.push(done)
  if (missing > 0) sentences.push(`${entriesOf(missing)} no longer existed.`)
  if (remaining !== undefined && remaining > 0) {
    sentences.push(`The search now matches ${entriesOf(remaining)}, stored after the preview. They are not purged.`)
  }
  return sentences
}

export function entriesOf(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'entry' : 'entries'}`
}
