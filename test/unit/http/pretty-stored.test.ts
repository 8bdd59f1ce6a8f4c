/** The cost of `?pretty`: a stored response is indented once, and its indented form is bounded. */
import t from 'tap'
import type { EnvelopeResponse } from '../../../src/core/response.ts'
import { pretty } from '../../../src/representation/pretty.ts'
import { represent } from '../../../src/representation/represent.ts'
import { cachedResponse, startServer, uncachedResponse } from './test-server.ts'

const preferences = { pretty: true, acceptEncoding: undefined, ifNoneMatch: undefined }
const rows = (count: number) =>
  Buffer.from(JSON.stringify({ error: 0, data: Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}` })) }))
const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))

async function bytesOf(body: Buffer, isStored = true): Promise<Buffer | undefined> {
  const response = cachedResponse(body) as EnvelopeResponse
  return (await represent(isStored ? response : uncachedResponse(body), preferences)).bytes
}

t.test('a stored response is indented once for all of its hits', async (t) => {
  const body = rows(1000)
  const first = await bytesOf(body)
  t.strictSame(first, pretty(body))
  t.equal(await bytesOf(body), first, 'the same bytes, not made again')
  t.strictSame(await bytesOf(rows(999)), pretty(rows(999)), 'another response has its own')
})

t.test('an indented hit costs less than twice a plain hit of the same length', async (t) => {
  const body = rows(20_000)
  const bodies = { '/agents': body, '/rules': pretty(body) }
  const server = await startServer(t, ({ endpoint: { path } }) => cachedResponse(bodies[path as '/agents']))
  const cpuOf = async (path: string): Promise<number> => {
    for (let warm = 0; warm < 3; warm += 1) await server.send(path)
    const before = process.cpuUsage()
    for (let count = 0; count < 20; count += 1) await server.send(path)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  // The least of several, in turns: other processes and the garbage collector can only add to the time.
  let [indented, plain] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < 5; round += 1) {
    indented = Math.min(indented, await cpuOf('/agents?pretty'))
    plain = Math.min(plain, await cpuOf('/rules'))
  }
  t.ok(indented < 2 * plain, `${Math.round(indented)} and ${Math.round(plain)} µs of CPU time`)
})

t.test('a body whose indented form would be too long is sent as it is', async (t) => {
  for (const body of [nested(2 * 1024 * 1024), Buffer.from(`"${'x'.repeat(16 * 1024 * 1024)}"`)]) {
    for (const isStored of [true, false]) t.equal(await bytesOf(body, isStored), body)
  }
  // Another body than above: its indented form is not known yet.
  const deep = cachedResponse(nested(2 * 1024 * 1024 + 1)) as EnvelopeResponse
  const cpuOf = async (count: number): Promise<number> => {
    const before = process.cpuUsage()
    for (let done = 0; done < count; done += 1) await represent(deep, preferences)
    return process.cpuUsage(before).user
  }
  const first = await cpuOf(1)
  t.ok((await cpuOf(20)) < first, 'and is not tried again for each hit')
})
