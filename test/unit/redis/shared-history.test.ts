/** The history that replicas share, in a real Redis: bounded, and readable whatever other programs write there. */

import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { encodeRecord, SERIES, type TimedRecord } from '../../../src/admin/console/history-records.ts'
import { LatencyHistogram } from '../../../src/core/latency-histogram.ts'
import { redisKeys } from '../../../src/redis/options.ts'
import { RedisReplica } from '../../../src/redis/replica.ts'
import { createSharedHistory } from '../../../src/redis/shared-history.ts'
import { startRedis } from '../../support/redis.ts'

/** So long that Redis counts as reachable however busy the machine is. */
const COMMAND_TIMEOUT_MS = 20_000
const DAY_SECONDS = 86_400

async function start(t: Test) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: COMMAND_TIMEOUT_MS } })
  await replica.start()
  t.teardown(() => replica.close())
  return { redis, client: redis.client(), history: createSharedHistory(replica) }
}

const nowSeconds = () => Math.floor(Date.now() / 1000)

t.test('records are returned by time, and a record that is written twice once', async (t) => {
  const { history } = await start(t)
  const now = nowSeconds()
  const records = [0, 60, 3600, 7200.5].map((ago) => ({ seconds: now - ago, text: `[${ago}]` }))
  t.equal(await history.add(SERIES.minutes, records), true)
  t.equal(await history.add(SERIES.minutes, records), true)
  t.strictSame(await history.read(SERIES.minutes, now - DAY_SECONDS, now), ['[7200.5]', '[3600]', '[60]', '[0]'])
  t.strictSame(await history.read(SERIES.minutes, now - 3600, now - 60), ['[3600]', '[60]'])
  t.strictSame(await history.read(SERIES.intervals, now - 3600, now), [], 'series are separate')
})

t.test('records that are too old, too many, or from the future are removed, and all of them expire', async (t) => {
  const { history, client } = await start(t)
  const now = nowSeconds()
  const series = { ...SERIES.minutes, maxRecords: 5 }
  const old = { seconds: now - series.lifetime - 5, text: 'old' }
  const future = { seconds: now + DAY_SECONDS, text: 'future' }
  await history.add(series, [old, future])
  const records = Array.from({ length: 20 }, (_, at) => ({ seconds: now - 60 * at, text: `[${at}]` }))
  await history.add(series, records)
  const key = redisKeys.history(series.name)
  t.strictSame(await client.zrange(key, '0', '-1'), ['[4]', '[3]', '[2]', '[1]', '[0]'], 'the newest remain')
  const lifetime = await client.pttl(key)
  t.ok(lifetime > 0 && lifetime <= series.lifetime * 1000, `${lifetime} ms left`)
})

t.test('values of other programs break neither reads nor writes', async (t) => {
  const { history, client } = await start(t)
  const now = nowSeconds()
  const key = redisKeys.history('minutes')
  await client.set(key, 'a text')
  t.strictSame(await history.read(SERIES.minutes, now - 60, now), [], 'a value of another type has no records')
  t.equal(await history.add(SERIES.minutes, [{ seconds: now, text: '[1]' }]), true)
  await client.zadd(key, now, 'x'.repeat(100_000))
  await client.zadd(key, `${now}`, Buffer.from([0xff, 0xfe, 0x00]))
  const texts = await history.read(SERIES.minutes, now - 60, now)
  t.ok(texts?.includes('[1]'), 'the record is returned')
  t.notOk(
    texts?.some((text) => text.length > 10_000),
    'a long value is not transferred',
  )
})

t.test('a read returns at most the maximum number of records, also if another program has added more', async (t) => {
  const { history, client } = await start(t)
  const now = nowSeconds()
  const series = { ...SERIES.minutes, maxRecords: 50 }
  const added = Array.from({ length: 300 }, (_, at) => [now - 60 * at, `[${at}]`]).flat()
  await client.zadd(redisKeys.history(series.name), ...added)
  t.equal((await history.read(series, now - DAY_SECONDS, now))?.length, 50)
})

t.test('without Redis, reads and writes fail at once', async (t) => {
  const { history, redis } = await start(t)
  await redis.kill()
  t.equal(await history.add(SERIES.minutes, [{ seconds: nowSeconds(), text: '[1]' }]), false)
  t.equal(await history.read(SERIES.minutes, nowSeconds() - 60, nowSeconds()), undefined)
})

/** Latencies that are spread over 40 times the smallest one. */
function latenciesOf(count: number, smallest: number, index: number): number[] {
  const times = new LatencyHistogram()
  for (let each = 0; each < count; each++) times.add(smallest * 40 ** (((each * 7919 + index) % count) / count))
  return times.pairs()
}

/** Records of the last `count` intervals. */
function recordsOf(count: number, seconds: number, requests: number): TimedRecord[] {
  const now = nowSeconds()
  return Array.from({ length: count }, (_, index) => {
    const at = Math.floor(now / seconds) - index
    const calls = requests === 0 ? 0 : 95
    const latencies = latenciesOf(requests, 0.5, index)
    const nodeLatencies = latenciesOf(calls, 10, index)
    const sums = { requests, hits: requests, cacheable: requests, calls, saved: requests * 104, failures: 0, stale: 0 }
    const record = { run: 'a1b2c3d4', replica: 'manager-edge-7c9f6d5b8-x2x4q', at, sums, latencies, nodeLatencies }
    return { seconds: at * seconds, text: encodeRecord(record) }
  })
}

async function bytesOfDay(t: Test, requests: number): Promise<number> {
  const { history, client } = await start(t)
  let total = 0
  for (const { kind, count, seconds } of [
    { kind: SERIES.minutes, count: DAY_SECONDS / 60, seconds: 60 },
    { kind: SERIES.intervals, count: 360, seconds: 10 },
  ]) {
    const records = recordsOf(count, seconds, requests)
    for (let at = 0; at < records.length; at += 64) await history.add(kind, records.slice(at, at + 64))
    const bytes = Number(await client.call('MEMORY', 'USAGE', redisKeys.history(kind.name), 'SAMPLES', '0'))
    t.comment(`${requests} requests per record, ${kind.name}: ${count} records, ${bytes} bytes`)
    total += bytes
  }
  t.comment(`${requests} requests per record: ${total} bytes per replica and day`)
  return total
}

t.test('the history of one replica and day takes as many bytes in Redis as documented', async (t) => {
  const text = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const documented = /(\d+) KB in Redis per replica and day without requests, and\s+(\d+) KB/.exec(text)
  const [idle, busy] = [await bytesOfDay(t, 0), await bytesOfDay(t, 5000)]
  for (const [bytes, kilobytes] of [
    [idle, Number(documented?.[1])],
    [busy, Number(documented?.[2])],
  ] as const) {
    t.ok(Math.abs(bytes / 1000 / kilobytes - 1) < 0.1, `${bytes} bytes, ${kilobytes} KB in docs/operations.md`)
  }
})
