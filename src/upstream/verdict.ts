/** What the end of a call says of its node. */
import type { Failure } from './failure.ts'
import type { Lesson } from './gate.ts'

/** `unreadable`: bad health if other endpoints show it too. */
export type Verdict = 'alive' | 'failed' | 'refused' | 'unreadable' | 'nothing'

/**
 * A bad password or a huge answer is the request's affair: the node is alive. A time-out, or a client that waited
 * no longer, counts only when the call spent half of its time on the node and not in our own line.
 */
export function judge(failure: Failure | undefined, timeout: number | undefined, spent: number): Verdict {
  switch (failure?.fault) {
    case undefined:
    case 'tooLarge':
    case 'refusedCredentials':
      return 'alive'
    case 'timeout':
    case 'cancelled':
      return spent >= (timeout ?? Number.POSITIVE_INFINITY) / 2 ? 'failed' : 'nothing'
    case 'unreadable':
      return 'unreadable'
    default:
      return failure?.refused ? 'refused' : 'failed'
  }
}

/** Refusals and unreadable answers are no sign of too much load. */
export function lessonOf(verdict: Verdict): Lesson {
  if (verdict === 'alive') return 'answered'
  return verdict === 'failed' ? 'strained' : 'nothing'
}
