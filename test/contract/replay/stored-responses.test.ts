import t, { type Test } from 'tap'
import { check, typeOf } from './check.ts'
import { cacheDifferences, differenceOf, isOfCache } from './differences.ts'
import { type Exchange, json, name, recorded } from './exchanges.ts'
import { type Outcome, type Replay, startReplay } from './replay.ts'

const exchanges = recorded()
/** Longer than the test, so that stored responses do not expire before they are requested again. */
const ttl = { agents: '60s', manager: '60s', cluster: '60s', syscheck: '60s', rootcheck: '60s', sca: '60s' }
// Snapshots call for pages that were not recorded.
const snapshots = { groups: [] }
const cache = { snapshots, ttl: { ...ttl, syscollector: '60s', ciscat: '60s', summary: '60s', validation: '60s' } }
const pending = startReplay(exchanges, cache)
t.teardown(async () => (await pending).close())
/** With a single node the edge joins no responses. */
const single = startReplay(exchanges, cache, { discover: false })
t.teardown(async () => (await single).close())

const status = ({ headers }: Outcome) => String(headers['cache-status'] ?? '')

/** Exchanges that fill the cache with the entries of the recorded cache, or with entries to clear. */
function fillsOf({ request, response }: Exchange): Exchange[] {
  if (request.path === '/cache' && request.method === 'DELETE') return [answered('/rules/5710', ['GET'])]
  const index = json(response.body)?.data as { readonly all?: readonly string[] } | undefined
  return (index?.all ?? []).map((url) => answered(url, ['GET', 'HEAD']))
}

function answered(path: string, methods: readonly string[]): Exchange {
  const found = exchanges.find(
    ({ request, response }) => methods.includes(request.method) && request.path === path && response.status === 200,
  )
  if (found === undefined) throw new Error(`nothing was recorded of ${path}`)
  return found
}

t.test('with the cache on, responses of the node and of the cache are the recorded ones', async (t) => {
  const replay = await pending
  let storedCount = 0
  for (const exchange of exchanges.filter((one) => !isOfCache(one) && !differenceOf(one)?.joined)) {
    await replay.clear()
    const [first, again] = [await replay.send(exchange), await replay.send(exchange)]
    const stored = /; stored/.test(status(first))
    if (stored) storedCount += 1
    await t.test(name(exchange), async (t) => {
      check(t, exchange, first)
      check(t, exchange, again, stored ? 0 : 1)
      t.equal(/; hit/.test(status(again)), stored, `${status(first)}, then ${status(again)}`)
      if (stored) t.equal(again.text, first.text, 'byte for byte')
    })
  }
  t.comment(`${storedCount} were stored`)
  t.ok(storedCount > 150)
})

async function confirms(t: Test, replay: Replay, exchange: Exchange): Promise<void> {
  const filler = answered(exchange.request.path, ['GET'])
  const full = await replay.send(filler)
  check(t, filler, full)
  const tag = String(full.headers.etag)
  t.match(tag, /^"[^"]+"$/, 'a strong tag')
  const recordedTag = await replay.send({ ...filler, request: exchange.request })
  check(t, filler, recordedTag, 0)
  const outcome = await replay.send(exchange, { 'If-None-Match': tag })
  t.equal(outcome.status, 304)
  t.equal(outcome.text, '')
  t.equal(outcome.calls, 0)
  const { etag, vary, 'cache-control': control } = full.headers
  t.match(outcome.headers, { etag, vary, 'cache-control': control, age: /^\d+$/, 'cache-status': /; hit/ })
  t.same(
    Object.keys(outcome.headers).filter((header) => header.startsWith('content-')),
    [],
  )
}

function withoutFields(t: Test, text: string, fields: readonly string[]): string {
  const { data, ...rest } = JSON.parse(text) as { data: Record<string, unknown> }
  for (const field of fields) {
    t.ok(field in data, `${field} is added`)
    delete data[field]
  }
  return JSON.stringify({ ...rest, data })
}

t.test('recorded exchanges of the cache', async (t) => {
  const replay = await single
  const ofCache = exchanges.filter(isOfCache)
  t.ok(ofCache.length >= 10)
  for (const exchange of ofCache) {
    const difference = cacheDifferences.find(({ when }) => when(exchange))
    await t.test(name(exchange), async (t) => {
      await replay.clear()
      if (difference?.ownTag) return confirms(t, replay, exchange)
      for (const fill of fillsOf(exchange)) t.match(status(await replay.send(fill)), /; stored/)
      const outcome = await replay.send(exchange)
      t.equal(outcome.status, exchange.response.status)
      t.equal(outcome.type, typeOf(exchange))
      const body = exchange.response.body ?? ''
      const text = difference?.added ? withoutFields(t, outcome.text, difference.added) : outcome.text
      t.equal(text, difference?.adapt?.(body) ?? body, 'byte for byte')
      t.equal(outcome.calls, 0)
    })
  }
})

t.test('every listed difference occurs', async (t) => {
  for (const { reason, when } of cacheDifferences) t.ok(exchanges.filter(isOfCache).some(when), reason)
})
