/**
 * Every recorded exchange of a cluster of the newer layout, behind the classic request for it: the edge makes the
 * recorded call, and its response is the one that the measurements demand.
 */
import t from 'tap'
import { catalogue } from '../../../src/catalogue/index.ts'
import { idOf } from '../facts.ts'
import { differenceOf } from './check.ts'
import { startReplay } from './classic-master.ts'
import { type ClassicRequest, type Reason, reasons } from './classic-request.ts'
import { classicRequestOf, isOfEndpoint, urlOf } from './classic-requests.ts'
import { type NewerExchange, nameOf, recordedNewer } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { explained, withoutCall, withoutClassicRequest } from './known-differences.ts'
import { expectedOf } from './oracle.ts'

interface Pair {
  readonly exchange: NewerExchange
  readonly request: ClassicRequest
}

const recorded = recordedNewer()
const ofEndpoints = recorded.filter(isOfEndpoint)
const withoutRequest = new Map<Reason, number>()
const byEndpoint = new Map<string, Pair[]>()
for (const exchange of ofEndpoints) {
  const derived = classicRequestOf(exchange)
  if (derived.kind === 'none') withoutRequest.set(derived.reason, (withoutRequest.get(derived.reason) ?? 0) + 1)
  else {
    const { endpoint } = derived.request
    byEndpoint.set(endpoint, [...(byEndpoint.get(endpoint) ?? []), { exchange, request: derived.request }])
  }
}

t.test('recorded exchanges behind classic requests', async (t) => {
  const replay = await startReplay(t)
  const furtherReplies = furtherRepliesFrom(recorded)
  for (const [endpoint, pairs] of byEndpoint) {
    await t.test(endpoint, async (t) => {
      for (const { exchange, request } of pairs) {
        const outcome = await replay.send(request, exchange, furtherReplies(exchange))
        const difference = differenceOf(expectedOf(request, exchange), outcome)
        const name = `${nameOf(exchange)}, asked by ${urlOf(request).slice(0, 110)}`
        const reason = explained.get(exchange.line)
        if (reason !== undefined) t.not(difference, undefined, `${name}: ${reason}`)
        else t.equal(difference, undefined, name)
      }
    })
  }
})

t.test('exchanges without a classic request are counted by their reason', async (t) => {
  for (const [reason, count] of withoutRequest) t.comment(`${count}: ${reasons[reason]}`)
  t.same(Object.fromEntries(withoutRequest), withoutClassicRequest)
  const compared = [...byEndpoint.values()].reduce((sum, pairs) => sum + pairs.length, 0)
  t.comment(`${compared} exchanges of ${byEndpoint.size} endpoints are compared`)
  t.equal(compared + [...withoutRequest.values()].reduce((sum, count) => sum + count), ofEndpoints.length)
})

t.test('every endpoint that a node answers has recorded exchanges', async (t) => {
  const ids = catalogue
    .filter(({ target, beyondSeed }) => target.kind !== 'edge' && target.kind !== 'severalNodes' && !beyondSeed)
    .map(idOf)
  t.same(
    ids.filter((id) => !byEndpoint.has(id)),
    withoutCall,
  )
})

t.test('every explained difference is of a compared exchange', async (t) => {
  const lines = [...byEndpoint.values()].flatMap((pairs) => pairs.map(({ exchange }) => exchange.line))
  for (const [line, reason] of explained) t.ok(lines.includes(line), `line ${line}: ${reason}`)
})
