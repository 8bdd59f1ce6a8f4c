import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { type RecordedCommand, recordCommands } from '../support/redis-monitor.ts'
import { authorization } from './coherence/processes.ts'
import { runCourse } from './redis-course.ts'
import { type SingleStage, startStage } from './redis-stage.ts'
import { createRedisUser, documentedCommands, type RedisUser } from './redis-user.ts'

/** Rows of a page of the index, or tags whose epochs are read at once, and some words more. */
const MAX_WORDS = 1024 + 8

let user: RedisUser
let stage: SingleStage

t.before(async () => {
  user = await createRedisUser()
  // This counts commands: on a busy machine Redis must not count as unreachable.
  stage = await startStage({ user, commandTimeout: '1s' })
})
t.teardown(async () => {
  await stage.close()
  await user.remove()
})

const get = async (at: number, path: string, method = 'GET') => {
  const answer = await fetch(`${stage.replicas[at]?.url}${path}`, { method, headers: { authorization } })
  await answer.text()
  return answer.headers.get('cache-status') ?? ''
}

t.test('under load the edge sends documented commands only, and none that iterates over all keys', async (t) => {
  const everything = async () => {
    await get(0, '/cache')
    await get(1, '/cache?details=true')
    await get(0, '/cache/rules', 'DELETE')
    await get(1, '/cache/explain?url=/agents/001')
    await fetch(`${stage.replicas[0]?.url}/agents`, { headers: { authorization: 'Basic bm9ib2R5Ong=' } })
    await get(1, '/cache', 'DELETE')
  }
  const commands = await recordCommands(stage.redis.port, async () => {
    const { failures, written } = await runCourse(stage, everything, { rate: 100, time: 700, seed: 1, writers: 2 })
    t.same(failures, [])
    t.equal(written?.unanswered, 0)
  })
  t.ok(commands.length > 500, `${commands.length} commands`)
  const allowed = new Set((await documentedCommands()).map((command) => command.split('|')[0]))
  const names = [...new Set(commands.map(({ words }) => words[0] ?? ''))]
  t.same(
    names.filter((name) => !allowed.has(name)),
    [],
    'all are documented',
  )
  t.same(
    names.filter((name) => /^(keys|h?scan|[sz]scan|randomkey|flush|mget|hgetall|hkeys|sort)/.test(name)),
    [],
  )
  const words = Math.max(...commands.map((command) => command.words.length))
  t.ok(words <= MAX_WORDS, `the longest command has ${words} words`)
  t.same((await stage.redis.client().call('ACL', 'LOG')) as unknown[], [], 'and none was denied')
})

t.test(
  'a miss costs a lookup and the check of its fetch lock, a hit of another replica one, and local hits none',
  async (t) => {
    const agents = Array.from({ length: 20 }, (_, at) => String(2001 + at))
    const count = (commands: readonly RecordedCommand[], name: string, about: RegExp) =>
      commands.filter(
        ({ words, isFromScript: inside }) => !inside && words[0] === name && words.some((word) => about.test(word)),
      ).length
    const published = (commands: readonly RecordedCommand[], channel: string) =>
      commands.filter(({ words }) => words[0] === 'publish' && words[1] === channel).length
    const costs = (commands: readonly RecordedCommand[]) => ({
      lookups: count(commands, 'evalsha', /^agent:20\d\d$/),
      // Of entries, alone or together with a lock.
      entries: count(commands, 'evalsha', /^edge:c:/),
      locks: count(commands, 'evalsha', /^edge:l:/),
      // In the command that stores the entry.
      replaced: published(commands, 'edge:{e}:kept'),
      releases: published(commands, 'edge:{e}:settled'),
    })
    const each = async (at: number, expected: RegExp) => {
      for (const agent of agents) t.match(await get(at, `/agents/${agent}`), expected)
    }
    const n = agents.length
    const missed = costs(
      await recordCommands(stage.redis.port, async (commands) => {
        await each(0, /; fwd=uri-miss/)
        // A response waits 50 ms at most to be stored, and the lock is released after it was sent.
        await eventually(() => costs(commands).releases === n && costs(commands).replaced === n)
      }),
    )
    // One command takes the lock and asks for the entry, which another replica may have stored meanwhile. One stores the entry and
    // releases the lock. A lookup that is too old, on a busy machine, is made again.
    const { lookups, ...others } = missed
    t.ok(lookups >= n && lookups < 2 * n, `${lookups} lookups`)
    t.strictSame(others, { entries: lookups + 2 * n, locks: 2 * n, replaced: n, releases: n })
    const remote = costs(await recordCommands(stage.redis.port, () => each(1, /; hit/)))
    t.strictSame(remote, { lookups: n, entries: n, locks: 0, replaced: 0, releases: 0 })
    // The local tier is served for two seconds after a heartbeat, which may be late on a busy machine.
    let local = remote
    for (let turn = 0; turn < 5 && local.lookups > 0; turn += 1) {
      local = costs(await recordCommands(stage.redis.port, () => Promise.all([each(0, /; hit/), each(1, /; hit/)])))
    }
    t.strictSame(local, { lookups: 0, entries: 0, locks: 0, replaced: 0, releases: 0 })
  },
)
