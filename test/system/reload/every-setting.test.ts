import t from 'tap'
import { proofsOfParts, prove } from './prove.ts'

/**
 * Two parts at once, because many proofs wait for a timeout or a delay. With all at once, the event loop was late for the
 * shortest ones. The proofs of a part share what receives its data.
 */
t.jobs = 2
for (const [part, proofs] of Object.entries(proofsOfParts))
  t.test(`settings of ${part}`, { buffered: true }, (t) => prove(t, proofs))
