/** Errors of a newer cluster have the texts that a classic cluster sent for the same codes. */
import t from 'tap'
import { startReplay } from './classic-master.ts'
import { classicMessages, envelopeOf, failedIdsOf, withoutId } from './classic-messages.ts'
import { classicRequestOf, isOfEndpoint } from './classic-requests.ts'
import { type NewerExchange, nameOf, recordedNewer } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'

/** Codes below are of the edge's own checks, whose texts name a field. */
const FIRST_CODE_OF_NODES = 999

/** A text may quote the time frame of the request. */
const withoutTime = (message: string) => message.replace(/older_than \w+/, 'older_than TIME')

t.test('texts of errors', async (t) => {
  const replay = await startReplay(t)
  const recorded = recordedNewer()
  const furtherReplies = furtherRepliesFrom(recorded)
  const { ofResponses, ofIds } = classicMessages()
  const compared = new Set<number>()
  const compare = (exchange: NewerExchange, code: number, message: string, known: ReadonlySet<string> | undefined) => {
    if (known === undefined || code < FIRST_CODE_OF_NODES) return
    compared.add(code)
    const name = `${nameOf(exchange)}: ${code} "${message}"`
    if (![...known].map(withoutTime).includes(withoutTime(message)))
      t.fail(`${name} instead of ${[...known].join(' or ')}`)
  }
  for (const exchange of recorded.filter(isOfEndpoint)) {
    const derived = classicRequestOf(exchange)
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
