/** Errors of a v4 cluster have the texts that a v3 cluster sent for the same codes. */
import t from 'tap'
import { nameOf, recordedV4, type V4Exchange } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { startReplay } from './v3-master.ts'
import { envelopeOf, failedIdsOf, v3Messages, withoutId } from './v3-messages.ts'
import { isOfEndpoint, v3RequestOf } from './v3-requests.ts'

/** Codes below are of the edge's own checks, whose texts name a field. */
const FIRST_CODE_OF_NODES = 999

/** A text may quote the time frame of the request. */
const withoutTime = (message: string) => message.replace(/older_than \w+/, 'older_than TIME')

t.test('texts of errors', async (t) => {
  const replay = await startReplay(t)
  const recorded = recordedV4()
  const furtherReplies = furtherRepliesFrom(recorded)
  const { ofResponses, ofIds } = v3Messages()
  const compared = new Set<number>()
  const compare = (exchange: V4Exchange, code: number, message: string, known: ReadonlySet<string> | undefined) => {
    if (known === undefined || code < FIRST_CODE_OF_NODES) return
    compared.add(code)
    const name = `${nameOf(exchange)}: ${code} "${message}"`
    if (![...known].map(withoutTime).includes(withoutTime(message)))
      t.fail(`${name} instead of ${[...known].join(' or ')}`)
  }
  for (const exchange of recorded.filter(isOfEndpoint)) {
    const derived = v3RequestOf(exchange)
    if (derived.kind === 'none') continue
    const { text } = await replay.send(derived.request, exchange, furtherReplies(exchange))
    const { error, message = '', data } = envelopeOf(text) ?? {}
    if (typeof error === 'number') compare(exchange, error, message, ofResponses.get(error))
    for (const { id, error: failed } of failedIdsOf(data)) {
      compare(exchange, failed.code, withoutId(failed.message, id), ofIds.get(failed.code))
    }
  }
  t.comment(`codes: ${[...compared].sort((a, b) => a - b).join(' ')}`)
  t.ok(compared.size >= 20, `${compared.size} codes`)
})
