/**
 * The audit: one record before a write or purge can act (intent) and one when its outcome is known. The stage is around
 * all others, so every request that changes something passes through it.
 */
import { errorNumberOf } from '../core/envelope.ts'
import { isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeCallEvent, RejectedRequestEvent } from '../core/events.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { systemClock } from '../core/timing.ts'
import type { Trace } from '../core/trace.ts'
import { traceAsync } from '../core/traced.ts'
import { type AuditEvent, type AuditedRequest, describeRequest, type Outcome } from './record.ts'
import type { AuditSink } from './sink.ts'

interface AuditOptions {
  readonly sink: AuditSink
  /** If the intent cannot be recorded: refuse the write with 936, or continue and log the failure. */
  readonly onFailure: () => 'refuse' | 'log'
  readonly log: { error(fields: object, message: string): void }
}

interface AuditState {
  /** Records written since the start, and records that could not be written. */
  readonly records: number
  readonly failures: number
  /** The latest record could not be written. */
  readonly isFailing: boolean
}

export type Audit = ReturnType<typeof createAudit>

const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Bounds the memory that refused writes take while the disk hangs. */
const MAX_PENDING_REJECTIONS = 1000
const RETRY_AFTER_SECONDS = '5'

export function createAudit(options: AuditOptions) {
  const { sink, log } = options
  const recorder = createRecorder(sink, log)
  /** For each write in flight, the nodes that it was sent to. */
  const nodesOf = new Map<string, Set<string>>()

  /** Writes one record before the work and one after it. Rejects with 936 if the first one is needed, but not written. */
  const recordAround = async <T>(
    described: AuditedRequest,
    work: () => T | Promise<T>,
    resultOfWork: (value: T) => Result,
    trace?: Trace,
  ): Promise<T> => {
    const isRecorded = await traceAsync(trace, 'audit', recorder.append, { kind: 'intent', ...described })
    if (!isRecorded && options.onFailure() === 'refuse') {
      throw new EdgeError(936, '', { headers: { 'retry-after': RETRY_AFTER_SECONDS } })
    }
    const nodes = new Set<string>()
    nodesOf.set(described.request, nodes)
    const start = systemClock.elapsed()
    const recordOutcome = (result: Result) => {
      nodesOf.delete(described.request)
      const event = { ...result, nodes: [...nodes], ms: Math.round(systemClock.elapsed() - start), ...described }
      return traceAsync(trace, 'audit', recorder.append, { kind: 'outcome', ...event })
    }
    let value: T
    try {
      value = await work()
    } catch (fault) {
      await recordOutcome(resultOfFault(fault))
      throw fault
    }
    await recordOutcome(resultOfWork(value))
    return value
  }

  const stage: Stage<EdgeWrite> = (next) => async (request) => {
    if (request.endpoint.target.kind === 'edge' && request.query.preview === 'true') return next(request)
    return recordAround(await describeRequest(request), () => next(request), resultOf, request.trace)
  }
  return {
    /** Around writes and purges. The preview of a purge changes nothing, so it has no record. */
    stage,
    /** Runs a change that is no request of the pipeline, with a record before and after it. Rejects as the change does. */
    record: <T>(described: AuditedRequest, change: () => Promise<T>) => recordAround(described, change, () => DONE),
    /** Records writes that were refused before they reached the stage; ignores other requests. */
    onRejected: recordRejections(recorder),
    /** Listener: collects the nodes that a write was sent to. */
    onNodeCall: ({ requestId, node }: NodeCallEvent) => void nodesOf.get(requestId)?.add(node),
    /** Rejects if the file cannot be opened. */
    open: () => sink.open(),
    reopen: () => sink.reopen(),
    close: () => sink.close(),
    state: recorder.state,
  }
}

/** Writes records and counts those that are written and those that are lost. */
function createRecorder(sink: AuditSink, log: AuditOptions['log']) {
  let records = 0
  let failures = 0
  let isFailing = false
  return {
    /** Resolves with `false` if the record could not be written. */
    append: async (event: AuditEvent): Promise<boolean> => {
      try {
        await sink.append(event)
        records += 1
        isFailing = false
        return true
      } catch (fault) {
        failures += 1
        isFailing = true
        log.error({ fault: fault instanceof Error ? fault.message : String(fault) }, 'audit record not written')
        return false
      }
    },
    countLost: (): void => {
      failures += 1
    },
    state: (): AuditState => ({ records, failures, isFailing }),
  }
}

/**
 * Records rejected writes in the background: the response has left already. Nothing was done that a missing record could
 * hide, and callers without permission cannot slow down the disk for the others.
 */
function recordRejections({
  append,
  countLost,
}: ReturnType<typeof createRecorder>): (request: RejectedRequestEvent) => void {
  let pending = 0
  return ({ requestId, caller, client, method, route, status, rejectedWith }) => {
    if (rejectedWith === undefined || caller === undefined || status === 0 || READ_METHODS.has(method)) return
    if (pending >= MAX_PENDING_REJECTIONS) return countLost()
    pending += 1
    const result = { outcome: 'refused', status, error: rejectedWith, nodes: [] } as const
    void append({ kind: 'refused', ...result, request: requestId, caller, client, method, route }).finally(() => {
      pending -= 1
    })
  }
}

interface Result {
  readonly outcome: Outcome
  readonly status?: number
  readonly error?: number
}

const DONE: Result = { outcome: 'done', status: 200, error: 0 }

function resultOf(response: EdgeResponse): Result {
  const { status } = response
  if (response.kind === 'file') return { outcome: status < 400 ? 'done' : 'refused', status }
  const error = errorNumberOf(response)
  if (isUnfinished(response)) return { outcome: 'unknown', status, error }
  return { outcome: error === 0 && status < 400 ? 'done' : 'refused', status, error }
}

function resultOfFault(fault: unknown): Result {
  const known = fault instanceof EdgeError ? { status: fault.status, error: fault.code } : {}
  // Also if some nodes acted and others did not. The message of the response named them.
  if (isOutcomeUnknown(fault) || isPartlyDone(fault)) return { outcome: 'unknown', ...known }
  return { outcome: 'failed', ...known }
}
