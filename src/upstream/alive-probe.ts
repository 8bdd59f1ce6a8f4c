/**
 * The probe that shows whether a node answers at all: `GET /` without credentials, on a new connection. The API process of
 * each layout answers it by itself, in front of all its work, and it is no login. Its response also shows the layout.
 */
import type { Clock } from '../core/timing.ts'
import { startDeadline } from '../core/timing.ts'
import type { AttemptResult } from './exchange.ts'
import { createOwnCall } from './own-call.ts'
import { ANONYMOUS } from './tokens/authorized-call.ts'
import type { Transport } from './transport.ts'

export interface AliveProbeOptions {
  readonly node: string
  readonly transport: Pick<Transport, 'attempt'>
  /** Milliseconds. */
  readonly timeout: number
  readonly clock: Clock['elapsed']
  readonly caller: string
}

/** `none`: the node sent no response in time. `notSent`: its limit of calls per minute did not permit the probe. */
export type ProbeOutcome = 'answered' | 'blocked' | 'none' | 'notSent'

/** Sends the probe past the health and the concurrency limit of the node. Never rejects. */
export async function sendAliveProbe({
  node,
  transport,
  timeout,
  clock,
  caller,
}: AliveProbeOptions): Promise<AttemptResult> {
  const deadline = startDeadline(timeout, new AbortController().signal, clock)
  const call = createOwnCall({ node, path: '/', endpoint: 'GET /', timeout, caller, requestId: caller })
  try {
    return await transport.attempt({ ...call, authorization: ANONYMOUS }, deadline, 'new')
  } finally {
    deadline.end()
  }
}

/** Returns what the probe shows. Any response counts, also a refusal. */
export function outcomeOf(result: AttemptResult): ProbeOutcome {
  if (result.ok) return 'answered'
  const { fault, status } = result.failure
  switch (fault) {
    case 'blocked':
      return 'blocked'
    case 'timeout':
    case 'unreachable':
    case 'cancelled':
      return 'none'
    case 'overloaded':
      return status === undefined ? 'notSent' : 'answered'
    default:
      return 'answered'
  }
}
