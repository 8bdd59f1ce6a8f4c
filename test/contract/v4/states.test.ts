/**
 * Recorded exchanges about the state of the cluster and about limits of a node: a worker that is cut off or stopped, a
 * worker without its master, odd texts to search for. They pass as the exchanges of endpoints do (replay.test.ts).
 */
import t from 'tap'
import { differenceOf } from './check.ts'
import { nameOf, recordedV4 } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { withInferredEndpoint } from './inferred.ts'
import { expectedOf } from './oracle.ts'
import { startReplay } from './v3-master.ts'
import { urlOf, v3RequestOf } from './v3-requests.ts'

/** Exchanges that the edge answers with its own error, by their lines in the recording. */
const errors: ReadonlyMap<number, { readonly code: number; readonly reason: string }> = new Map([
  [1434, { code: 612, reason: 'a text of this length stops the node for good' }],
  [1460, { code: 612, reason: 'no text has a NUL character' }],
  [1496, { code: 924, reason: 'the verdict of a worker that is not connected is missing' }],
  [1538, { code: 924, reason: 'the verdict of a worker that is not connected is missing' }],
])

/** Exchanges whose call the edge does not make, by their lines. */
const otherCalls: ReadonlyMap<number, string> = new Map([
  [1433, 'the edge names each selected field once, so the request line has room'],
  [1473, 'a text of blanks is no text'],
  [1481, 'an exclamation mark alone negates an empty text: no row'],
])

t.test('states and limits', async (t) => {
  const replay = await startReplay(t)
  const recorded = recordedV4()
  const furtherReplies = furtherRepliesFrom(recorded)
  const kinds = new Map<string, number>()
  for (const original of recorded) {
    const exchange = withInferredEndpoint(original)
    if (exchange === undefined || otherCalls.has(exchange.line)) continue
    const derived = v3RequestOf(exchange)
    if (derived.kind === 'none') continue
    const { request } = derived
    const outcome = await replay.send(request, exchange, furtherReplies(exchange))
    const name = `${nameOf(exchange)}, asked by ${request.endpoint} ${urlOf(request).slice(0, 80)}`
    const error = errors.get(original.line)
    if (error === undefined) t.equal(differenceOf(expectedOf(request, exchange), outcome), undefined, name)
    else t.equal((JSON.parse(outcome.text) as { error?: number }).error, error.code, `${name}: ${error.reason}`)
    kinds.set(original.v3, (kinds.get(original.v3) ?? 0) + 1)
  }
  t.same(Object.fromEntries(kinds), {
    '(limits)': 42,
    '(worker down)': 63,
    '(master down)': 14,
    '(shape)': 9,
    '(restarting)': 1,
  })
})
