import { EdgeError } from './errors.ts'
import type { CacheWord } from './events.ts'
import { cacheWord } from './events.ts'
import type { NodeFault } from './node-call.ts'
import type { Ask, Handle, Prompt } from './request.ts'
import type { Answer } from './response.ts'

/**
 * Where the time of a request goes, in the core's own words. A request that nobody traces has none of it, and pays
 * nothing for it.
 */

/**
 * All that a span may say: names of the catalogue and of the settings, numbers, and words of a closed kind. There is no
 * place in it for a URL, a value, a header or a body.
 */
export interface Facts {
  readonly requestId?: string
  readonly method?: string
  /** A template of the catalogue, or `unknown`. */
  readonly route?: string
  /** 0: nothing was answered. */
  readonly status?: number
  readonly scheme?: 'http' | 'https'
  /** Of HTTP, `1.1`. */
  readonly protocol?: string
  readonly node?: string
  readonly group?: string
  readonly cache?: CacheWord
  readonly stored?: boolean
  /** The answer is that of a call which another request had begun. */
  readonly collapsed?: boolean
  /** The call is sent once more. */
  readonly resend?: number
  /** The number of an error of the edge's own. */
  readonly error?: number
  /** What failed; there only where something did. */
  readonly fault?: NodeFault | 'error' | 'partial'
}

/** The stages of the road, outermost first, and what goes on beside it. */
export type StageName =
  | 'authenticate'
  | 'authorise'
  | 'validate'
  | 'audit'
  | 'answer'
  | 'cache'
  | 'turn'
  | 'invalidate'
  | 'owner'
  | 'join'
  | 'route'
  | 'forward'
  | 'wait'
  | 'merge'
  | 'reply'
  | 'refresh'
  | 'verify'

/** A place in a trace, under which further spans may begin. */
export interface Trace {
  readonly traceId: string
  /** W3C Trace Context section 3.2: what a node that is called within this span is told. */
  readonly parent: string
  /** W3C Trace Context section 3.3, as it came. */
  readonly state?: string
  /** `false`: nobody wants to know more, and `parent` is only handed on. */
  readonly recorded: boolean
  within(stage: StageName, facts?: Facts): Span
  /** A call to a node. */
  call(facts: Facts): Span
  /** A trace of its own, linked to this one: work that goes on whether or not the request does. */
  apart(stage: StageName): Span
}

export interface Span extends Trace {
  /** To be called once. */
  end(facts?: Facts): void
}

/** Spans around the parts of the road; where nobody traces, the parts alone. */

/** What is answered at once stays so where nobody traces. */
export function traced(stage: StageName, handle: Handle): Handle
export function traced(stage: StageName, handle: Prompt): Prompt
export function traced(stage: StageName, handle: Prompt): Prompt {
  return (ask) => (ask.trace?.recorded ? inSpan(ask.trace.within(stage, ofAsk(ask)), ask, handle) : handle(ask))
}

/** What nobody waits for, in a trace of its own. */
export function tracedApart(stage: StageName, handle: Handle): Handle {
  return (ask) => (ask.trace?.recorded ? inSpan(ask.trace.apart(stage), ask, handle) : handle(ask))
}

/** Work that takes time and is no stage of its own type. */
export async function during<T>(trace: Trace | undefined, stage: StageName, work: () => Promise<T>): Promise<T> {
  if (!trace?.recorded) return work()
  const span = trace.within(stage)
  try {
    const done = await work()
    span.end()
    return done
  } catch (fault) {
    span.end(ofFault(fault))
    throw fault
  }
}

/** The same of work that is done at once. */
export function atOnce<T>(trace: Trace | undefined, stage: StageName, work: () => T): T {
  if (!trace?.recorded) return work()
  const span = trace.within(stage)
  try {
    const done = work()
    span.end()
    return done
  } catch (fault) {
    span.end(ofFault(fault))
    throw fault
  }
}

async function inSpan(span: Span, ask: Ask, handle: Prompt): Promise<Answer> {
  try {
    const answer = await handle({ ...ask, trace: span })
    span.end(ofAnswer(answer))
    return answer
  } catch (fault) {
    span.end(ofFault(fault))
    throw fault
  }
}

function ofAsk({ endpoint, node }: Ask): Facts {
  return { route: endpoint.path, ...(node !== undefined && { node }) }
}

function ofAnswer(answer: Answer): Facts {
  if (answer.kind !== 'json') return {}
  const { kept, partial } = answer
  return {
    ...(kept && { cache: cacheWord(kept.status) }),
    ...(kept?.status.stored && { stored: true }),
    ...(kept?.status.collapsed && { collapsed: true }),
    ...(partial && { fault: 'partial' as const }),
  }
}

/** A refusal is an answer; only what the edge or a node failed of is a failure. */
export function ofFault(fault: unknown): Facts {
  if (fault instanceof EdgeError) return { error: fault.code, ...(fault.status >= 500 && { fault: 'error' as const }) }
  return { fault: fault instanceof DOMException && fault.name === 'AbortError' ? 'cancelled' : 'error' }
}
