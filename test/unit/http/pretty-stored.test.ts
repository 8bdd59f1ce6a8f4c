/** The cost of `?pretty`: a stored response is indented once, and its indented form is bounded. */
import t from 'tap'
import type { EnvelopeResponse } from '../../../src/core/response.ts'
import { pretty } from '../../../src/representation/pretty.ts'
import { represent } from '../../../src/representation/represent.ts'
import { type CalledFunction, countCalls } from '../../support/called-functions.ts'
import { cachedResponse, startServer, uncachedResponse } from './test-server.ts'

const flags = { pretty: true }
const rows = (count: number) =>
  Buffer.from(JSON.stringify({ error: 0, data: Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}` })) }))
const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))

const timesIndented = (called: readonly CalledFunction[]): number =>
  called.filter(({ name }) => name === 'indentWithin').reduce((sum, { count }) => sum + count, 0)

async function bytesOf(body: Buffer, isStored = true): Promise<Buffer | undefined> {
  const response = cachedResponse(body) as EnvelopeResponse
  return (await represent(isStored ? response : uncachedResponse(body), {}, flags)).bytes
}

t.test('a stored response is indented once for all of its hits', async (t) => {
  const body = rows(1000)
  const first = await bytesOf(body)
  t.strictSame(first, pretty(body))
  t.equal(await bytesOf(body), first, 'the same bytes, not made again')
  t.strictSame(await bytesOf(rows(999)), pretty(rows(999)), 'another response has its own')
})

t.test('hits of an indented response indent nothing', async (t) => {
  const server = await startServer(t, () => cachedResponse(rows(5000)))
  const calls = await countCalls()
  t.teardown(calls.stop)
  const sendTwenty = async () => {
    for (let count = 0; count < 20; count += 1) await server.send('/agents?pretty')
    return timesIndented(await calls.take())
  }
  t.equal(await sendTwenty(), 1)
  t.equal(await sendTwenty(), 0)
})

t.test('a body whose indented form would be too long is sent as it is', async (t) => {
  for (const body of [nested(2 * 1024 * 1024), Buffer.from(`"${'x'.repeat(16 * 1024 * 1024)}"`)]) {
    for (const isStored of [true, false]) t.equal(await bytesOf(body, isStored), body)
  }
  // Another body than above: its indented form is not known yet.
  const deep = cachedResponse(nested(2 * 1024 * 1024 + 1)) as EnvelopeResponse
  const calls = await countCalls()
  t.teardown(calls.stop)
  for (let count = 0; count < 20; count += 1) await represent(deep, {}, flags)
  t.equal(timesIndented(await calls.take()), 1, 'and is not tried again for each hit')
})
