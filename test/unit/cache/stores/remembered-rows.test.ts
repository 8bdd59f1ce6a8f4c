import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { RememberedRows } from '../../../../src/cache/stores/index-rows.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { recordCommands } from '../../../support/redis-monitor.ts'
import { fill, fillAndList, type Store } from './contract.ts'
import { replica } from './replicas.ts'

const ENTRIES = 1000
const server = await startRedis()
t.teardown(() => server.close())

const tagsOf = (at: number, group: string) => ['cache', `cache:${group}`, `agent:${at}`]
const keyOf = (at: number, group = 'agents') => `${group}-${at}`

async function store(into: Store, at: number, group = 'agents'): Promise<void> {
  await fillAndList(into, `text ${at}`, { key: keyOf(at, group), group, tags: tagsOf(at, group) })
}

const keysOf = async (of: Store, group?: string) => (await of.list(group)).map(({ key }) => key).sort()

t.test('listings while little changes', async (t) => {
  await server.client().flushall()
  const [{ store: one }, { store: other }] = [await replica(t, server), await replica(t, server)]
  for (let from = 0; from < ENTRIES; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, at) => store(one, from + at)))

  /** Returns how many rows and how many epochs Redis returns for one listing. */
  const readBy = async (list: () => Promise<unknown>) => {
    const commands = await recordCommands(server.port, list)
    const fields = (key: string, prefix = '') =>
      commands
        .filter(({ words }) => words[0] === 'hmget' && words[1] === key)
        .flatMap(({ words }) => words.slice(2).filter((word) => word.startsWith(prefix))).length
    return { rows: fields('edge:i:{agents}:rows'), epochs: fields('edge:{e}', 't:') }
  }

  await t.test('the first listing reads every row, the next one none', async (t) => {
    t.match(await readBy(() => one.list()), { rows: ENTRIES })
    t.strictSame(await readBy(() => one.list()), { rows: 0, epochs: 0 })
  })

  await t.test('a listing reads the rows that other replicas added or replaced', async (t) => {
    await store(other, ENTRIES)
    await store(other, 7)
    t.match(await readBy(() => one.list()), { rows: 2 })
    t.equal((await one.list()).length, ENTRIES + 1)
  })

  await t.test('concurrent listings decode each row once', async (t) => {
    const both = await readBy(() => Promise.all([other.list(), other.list('agents')]))
    t.equal(both.rows, ENTRIES + 1)
  })

  await t.test('after a write, epochs are compared again, but no row is read', async (t) => {
    await (await other.fence(['agent:8'])).lift([])
    const { rows, epochs } = await readBy(() => one.list())
    t.equal(rows, 0)
    t.ok(epochs > ENTRIES)
    t.strictSame(await readBy(() => one.list()), { rows: 0, epochs: 0 })
  })
})

t.test('what changed since the last listing', async (t) => {
  await server.client().flushall()
  const [{ store: one }, { store: other }] = [await replica(t, server), await replica(t, server)]
  const both = [one, other]
  for (const group of ['agents', 'rules']) for (let at = 0; at < 5; at += 1) await store(one, at, group)
  for (const each of both) t.equal((await each.list()).length, 10)

  await t.test('hits are those of now', async (t) => {
    for (let hit = 0; hit < 3; hit += 1) await one.lookup(keyOf(1), tagsOf(1, 'agents'))
    await one.list()
    const row = (await other.list()).find(({ key }) => key === keyOf(1))
    t.equal(row?.hits, 3)
  })

  await t.test('neither replica lists what a write of the other has invalidated', async (t) => {
    await (await one.fence(['agent:0'])).lift([])
    for (const each of both) t.notOk((await keysOf(each)).some((key) => key.endsWith('-0')))
    await store(one, 0)
    for (const each of both) t.ok((await keysOf(each)).includes(keyOf(0)), 'it is listed again once it is stored again')
  })

  await t.test('neither replica lists a purged key', async (t) => {
    await other.purge({ keys: [keyOf(1)] })
    for (const each of both) t.notOk((await keysOf(each)).includes(keyOf(1)))
  })

  await t.test('neither replica lists a purged group', async (t) => {
    await one.purge({ group: 'agents' })
    for (const each of both) {
      t.strictSame(await keysOf(each, 'agents'), [])
      t.strictSame(
        await keysOf(each),
        [1, 2, 3, 4].map((at) => keyOf(at, 'rules')),
      )
    }
  })

  await t.test('responses that were purged softly remain listed', async (t) => {
    await one.purge({ group: 'rules', soft: true })
    for (const each of both) t.equal((await keysOf(each, 'rules')).length, 4)
  })

  await t.test('after Redis has lost its data, nothing is listed', async (t) => {
    await server.client().flushall()
    for (const each of both) t.strictSame(await keysOf(each), [])
  })
})

t.test('a row that expires is listed no more', async (t) => {
  await server.client().flushall()
  const { store: one } = await replica(t, server)
  const more = { ttl: 300, staleWhileRevalidate: 0, staleIfError: 0 }
  await fill(one, 'short', { key: 'short', tags: ['cache'], more })
  await fill(one, 'long', { key: 'long', tags: ['cache'] })
  t.strictSame(await keysOf(one), ['long', 'short'])
  while ((await server.client().exists('edge:c:2:short')) === 1) await one.lookup('none', ['cache'])
  // The clocks of Redis and of the replica differ by the time of a command.
  await eventually(async () => (await keysOf(one)).join() === 'long')
})

const found = (key: string) => new Map([[key, { expiry: '1', row: undefined, comparedAt: '' }]])

t.test('without further listings, the rows are discarded', async (t) => {
  const remembered = new RememberedRows(createEntryCodec(), 20)
  remembered.set('agents', found('k'))
  t.ok(remembered.of('agents')?.has('k'))
  await eventually(() => remembered.of('agents') === undefined)
  t.pass('the rows are discarded')
})

t.test('so are the rows that a listing finds after a longer time than that', async (t) => {
  const remembered = new RememberedRows(createEntryCodec(), 20)
  remembered.set('agents', found('first'))
  await eventually(() => remembered.of('agents') === undefined)
  remembered.set('agents', found('last'))
  t.equal(remembered.of('agents')?.size, 1)
  await eventually(() => remembered.of('agents') === undefined)
})

t.test('a listing that was received is not held in memory', async (t) => {
  const { store: one } = await replica(t, server)
  await store(one, 0)
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const listed = async () => new WeakRef(await one.list())
  const list = await listed()
  t.ok(list.deref()?.length)
  await nextTurn()
  collectGarbage()
  t.equal(list.deref(), undefined)
})
