/** Spans around the parts of the road; where nobody traces, the parts alone. */
import { EdgeError } from './errors.ts'
import { cacheWord } from './events.ts'
import type { Answer, Ask, Handle, Prompt } from './ports.ts'
import type { Facts, Span, StageName, Trace } from './trace.ts'

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
