/**
 * Every recorded exchange of a cluster of the v4 layout, behind the v3 request for it: the edge makes the
 * recorded call, and its response is the one that the measurements demand.
 */
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { idOf } from '../facts.ts'
import { differenceOf } from './check.ts'
import { nameOf, recordedV4, type V4Exchange } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { explained, withoutCall, withoutV3Request } from './known-differences.ts'
import { expectedOf } from './oracle.ts'
import { startReplay } from './v3-master.ts'
import { type Reason, reasons, type V3Request } from './v3-request.ts'
import { isOfEndpoint, urlOf, v3RequestOf } from './v3-requests.ts'

interface Pair {
  readonly exchange: V4Exchange
  readonly request: V3Request
}

const recorded = recordedV4()
const ofEndpoints = recorded.filter(isOfEndpoint)
const withoutRequest = new Map<Reason, number>()
const byEndpoint = new Map<string, Pair[]>()
for (const exchange of ofEndpoints) {
  const derived = v3RequestOf(exchange)
  if (derived.kind === 'none') withoutRequest.set(derived.reason, (withoutRequest.get(derived.reason) ?? 0) + 1)
  else {
    const { endpoint } = derived.request
    byEndpoint.set(endpoint, [...(byEndpoint.get(endpoint) ?? []), { exchange, request: derived.request }])
  }
}

t.test('recorded exchanges behind v3 requests', async (t) => {
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

t.test('exchanges without a v3 request are counted by their reason', async (t) => {
  for (const [reason, count] of withoutRequest) t.comment(`${count}: ${reasons[reason]}`)
  t.same(Object.fromEntries(withoutRequest), withoutV3Request)
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
