import { errorNumberOf, isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeCallEvent, RefusedRequestEvent } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/trace.ts'
import type { AuditSink } from './file.ts'
import { beginning, deedOf, type Entry, type Outcome, writeLine } from './record.ts'

export type { AuditSink } from './file.ts'

/**
 * The record of who changed what: a line before each write and purge can act, and one when its outcome is known. It
 * stands around the whole pipeline, so nothing that changes anything goes past it.
 */

export interface AuditOptions {
  readonly sink: AuditSink
  /** Where the line before a write cannot be written: it is refused, or goes on. */
  readonly onFailure: 'refuse' | 'log'
  readonly log: { error(fields: object, message: string): void }
  readonly clock?: () => number
}

export interface AuditState {
  /** Lines written, and those that could not be, since the start. */
  readonly lines: number
  readonly failures: number
}

export interface Audit {
  readonly audited: (next: Handler) => Handler
  /** Hears of each call, to know which nodes a write reached. */
  called(call: NodeCallEvent): void
  /** Hears of each request that was answered, to write down the writes that were refused before they came here. */
  answered(request: RefusedRequestEvent): void
  /** Begins to write; rejects when the file cannot be opened. */
  open(): Promise<void>
  reopen(): Promise<void>
  close(): Promise<void>
  state(): AuditState
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Lines of refused writes that wait for the disk; whoever sends more while it hangs fills no memory. */
const MOST_WAITING = 1000
/** When the disk may be there again, in seconds. */
const RETRY_AFTER = '5'

export function createAudit(options: AuditOptions): Audit {
  const { sink, onFailure, log, clock = () => performance.now() } = options
  const underWay = new Map<string, Set<string>>()
  const book = keptBook(sink, log)

  const audited: Audit['audited'] = (next) => (ask) => (isDeed(ask) ? recorded(next, ask) : next(ask))
  const recorded = async (next: Handler, ask: EdgeRequest): Promise<EdgeResponse> => {
    const deed = deedOf(ask)
    if (
      !(await traceAsync(ask.trace, 'audit', () => book.append({ kind: 'intent', ...deed }))) &&
      onFailure === 'refuse'
    ) {
      throw new EdgeError(936, '', { headers: { 'retry-after': RETRY_AFTER } })
    }
    const nodes = new Set<string>()
    underWay.set(deed.request, nodes)
    const began = clock()
    const end = (said: ReturnType<typeof ofAnswer>) => {
      underWay.delete(deed.request)
      const entry = { ...said, nodes: [...nodes], ms: Math.round(clock() - began), ...deed }
      return traceAsync(ask.trace, 'audit', () => book.append({ kind: 'outcome', ...entry }))
    }
    let answer: EdgeResponse
    try {
      answer = await next(ask)
    } catch (fault) {
      await end(ofFault(fault))
      throw fault
    }
    await end(ofAnswer(answer))
    return answer
  }

  return {
    audited,
    answered: tellingRefused(book),
    called: ({ requestId, node }) => void underWay.get(requestId)?.add(node),
    open: () => sink.open(),
    reopen: () => sink.reopen(),
    close: () => sink.close(),
    state: book.state,
  }
}

/** The lines, and the count of those that are written and those that are lost. */
interface Book {
  /** `false`: it could not be written. */
  append(entry: Entry): Promise<boolean>
  lost(): void
  state(): AuditState
}

function keptBook(sink: AuditSink, log: AuditOptions['log']): Book {
  let lines = 0
  let failures = 0
  return {
    append: async (entry) => {
      try {
        await sink.append(entry)
        lines += 1
        return true
      } catch (fault) {
        failures += 1
        log.error({ fault: fault instanceof Error ? fault.message : String(fault) }, 'an audit line was not written')
        return false
      }
    },
    lost: () => {
      failures += 1
    },
    state: () => ({ lines, failures }),
  }
}

/**
 * The answer has left, and does not wait for the disk: nothing was done that a missing line could hide, and a refusal
 * that costs its caller a turn of the disk would let callers without rights slow down those who have them.
 */
function tellingRefused({ append, lost }: Book): (request: RefusedRequestEvent) => void {
  let waiting = 0
  return ({ requestId, caller, client, method, route, status, refusal }) => {
    if (refusal === undefined || caller === undefined || status === 0 || READS.has(method)) return
    if (waiting >= MOST_WAITING) return lost()
    waiting += 1
    const who = { request: requestId, caller, client, method, route }
    const said = { outcome: 'refused', status, error: refusal, nodes: [] } as const
    void append({ kind: 'refused', ...said, ...who }).finally(() => {
      waiting -= 1
    })
  }
}

/** A preview changes nothing. */
function isDeed({ endpoint, query }: EdgeRequest): boolean {
  return endpoint.method !== 'GET' && !(endpoint.target.kind === 'edge' && query.preview === 'true')
}

interface Ended {
  readonly outcome: Outcome
  readonly status?: number
  readonly error?: number
}

function ofAnswer(answer: EdgeResponse): Ended {
  const { status } = answer
  if (answer.kind === 'raw') return { outcome: status < 400 ? 'done' : 'refused', status }
  const error = errorNumberOf(answer)
  if (isUnfinished(answer)) return { outcome: 'unknown', status, error }
  return { outcome: error === 0 && status < 400 ? 'done' : 'refused', status, error }
}

function ofFault(fault: unknown): Ended {
  const known = fault instanceof EdgeError ? { status: fault.status, error: fault.code } : {}
  // Some nodes acted and others did not: which, the message told the client.
  if (isOutcomeUnknown(fault) || isPartlyDone(fault)) return { outcome: 'unknown', ...known }
  return { outcome: 'failed', ...known }
}

/** The audit as lines of the log, where no file is set: the same chain, which begins anew with each process. */

export function auditToLog(replica: string, tell: (line: string) => void): AuditSink {
  let link = beginning
  const append: AuditSink['append'] = async (entry) => {
    const written = writeLine(entry, { time: new Date(), replica }, link)
    link = written.link
    tell(written.text)
  }
  return { append, open: async () => undefined, reopen: async () => undefined, close: async () => undefined }
}
