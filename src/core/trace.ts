/**
 * Where the time of a request goes, in the core's own words. A request that nobody traces has none of it, and pays
 * nothing for it.
 */
import type { CacheWord } from './events.ts'
import type { NodeFault } from './ports.ts'

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
