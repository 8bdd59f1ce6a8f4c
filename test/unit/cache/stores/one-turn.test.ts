/** What requests of one turn of the event loop send to Redis together. */
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { type RecordedCommand, recordCommands } from '../../../support/redis-monitor.ts'
import { entry, epochsOf, fill, served } from './contract.ts'
import { replica, steady } from './replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const COUNT = 20
const keys = Array.from({ length: COUNT }, (_, at) => `k${at}`)
const tagsOf = (key: string) => ['cache', 'cache:agents', `agent:${key}`, 'agent:*']

/** Returns how many commands of this name have a word like this one. */
function count(commands: readonly RecordedCommand[], name: string, word: RegExp): number {
  return commands.filter(
    ({ words, isFromScript }) => !isFromScript && words[0] === name && words.some((each) => word.test(each)),
  ).length
}

t.test('lookups of one turn read the epochs with one command, each tag once', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const commands = await recordCommands(redis.port, async () => {
    const lookups = await Promise.all(keys.map((key) => store.lookup(key, tagsOf(key))))
    for (const lookup of lookups) t.match(lookup, { kind: 'miss', epochs: { epochs: { length: 4 }, fenced: false } })
  })
  t.equal(count(commands, 'evalsha', /^agent:k0$/), 1)
  t.equal(count(commands, 'evalsha', /^agent:k19$/), 1)
  const [read] = commands.filter(({ words }) => words[0] === 'evalsha' && words.includes('agent:k0'))
  t.equal(read?.words.filter((word) => word === 'cache:agents').length, 1)
})

t.test('of lookups of one turn, those under a fence are fenced, and each has its own epochs', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const { store: other } = await replica(t, redis, { times: steady })
  await (await other.fence(['agent:k3'])).lift([])
  const fence = await other.fence(['agent:k7'])
  const lookups = await Promise.all(keys.map((key) => store.lookup(key, tagsOf(key))))
  const found = lookups.map((lookup) => (lookup.kind === 'unavailable' ? lookup.kind : lookup.epochs))
  t.strictSame(
    found.flatMap((epochs, at) => (typeof epochs !== 'string' && epochs.fenced ? [keys[at]] : [])),
    ['k7'],
  )
  t.match(found[2], { epochs: ['0~0/0~0', '0~0', '0~0', '0~0'] })
  t.match(found[3], { epochs: ['0~0/0~0', '0~0', '2~0', '0~0'] })
  await fence.lift([])
})

t.test('more tags than a command takes are read with several', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const many = Array.from({ length: 1000 }, (_, at) => `many ${at}`)
  const commands = await recordCommands(redis.port, async () => {
    const lookups = await Promise.all(many.map((key) => store.lookup(key, tagsOf(key))))
    for (const { kind } of lookups) if (kind !== 'miss') t.fail(kind)
  })
  const reads = commands.filter(
    ({ words }) => words[0] === 'evalsha' && words.some((word) => word.startsWith('agent:many')),
  )
  t.ok(reads.length >= 4 && reads.length <= 8, `${reads.length} commands`)
  t.ok(Math.max(...reads.map(({ words }) => words.length)) <= 508)
})

t.test('the rows of responses that are stored at once are few commands, and every replica lists them', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const { store: other } = await replica(t, redis, { times: steady })
  const epochs = await Promise.all(keys.map((key) => epochsOf(store, key, tagsOf(key))))
  const rowCommands = (commands: readonly RecordedCommand[]) => count(commands, 'evalsha', /^edge:i:\{agents\}$/)
  const commands = await recordCommands(redis.port, async () => {
    await Promise.all(
      keys.map((key, at) => {
        const known = epochs[at]
        if (known === undefined) throw new Error(key)
        return store.store(entry(key, known, { key, tags: tagsOf(key) }))
      }),
    )
    await eventually(async () => (await redis.client().zcard('edge:i:{agents}')) === COUNT)
  })
  // One, unless the process waits for a core between two replies of Redis.
  const rows = rowCommands(commands)
  t.ok(rows >= 1 && rows <= COUNT / 5, `${rows} commands`)
  t.equal(count(commands, 'evalsha', /^edge:c:/), COUNT)
  for (const each of [other, store])
    t.strictSame((await each.list('agents')).map(({ key }) => key).sort(), [...keys].sort())
})

t.test('a short entry comes over the connection of its epochs, a long one over another', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const { store: other } = await replica(t, redis, { times: steady })
  const long = 'x'.repeat(100_000)
  await fill(store, 'text', { key: 'short' })
  await fill(store, long, { key: 'long' })
  const connections = async (key: string, expected: string) => {
    const commands = await recordCommands(redis.port, async () => t.equal(await served(other, key), expected))
    const lookup = commands.filter(
      ({ words, isFromScript }) => words[0] === 'evalsha' && !isFromScript && words.some((word) => word.endsWith(key)),
    )
    return { commands: lookup.length, connections: new Set(lookup.map(({ from }) => from)).size }
  }
  t.strictSame(await connections('missing', 'miss'), { commands: 2, connections: 1 })
  t.strictSame(await connections('short', 'text'), { commands: 2, connections: 1 })
  t.strictSame(await connections('long', long), { commands: 3, connections: 2 })
})

t.test('of very many lookups at once, few entries come over the connection of heartbeats', async (t) => {
  const { store } = await replica(t, redis, { times: steady })
  const many = Array.from({ length: 1000 }, (_, at) => `crowd ${at}`)
  const commands = await recordCommands(redis.port, () =>
    Promise.all(many.map((key) => store.lookup(key, tagsOf(key)))),
  )
  const lookups = commands.filter(({ words: [name], isFromScript }) => name === 'evalsha' && !isFromScript)
  const ofEpochs = lookups.find(({ words }) => words.includes('agent:crowd 0'))
  const entries = lookups.filter(({ words }) => words.some((word) => word.startsWith('edge:c:')))
  t.equal(entries.length, many.length)
  const behindEpochs = entries.filter(({ from }) => from === ofEpochs?.from).length
  t.ok(behindEpochs >= 1 && behindEpochs <= 100, `${behindEpochs} entries`)
})
