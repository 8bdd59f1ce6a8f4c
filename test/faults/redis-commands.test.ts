import t from 'tap'
import { authorization } from './coherence/processes.ts'
import { course } from './redis-course.ts'
import { monitored, type Told } from './redis-monitor.ts'
import { type SingleStage, startStage } from './redis-stage.ts'
import { documentedCommands, type RedisUser, redisUser } from './redis-user.ts'

/** Rows of a page of the index, or tags whose epochs are read at once, and some words more. */
const MAX_WORDS = 1024 + 8

let user: RedisUser
let stage: SingleStage

t.before(async () => {
  user = await redisUser()
  // Commands are counted here, not times: a busy machine must not make Redis count as away.
  stage = await startStage({ user, step: '1s' })
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

t.test('under load Redis is told nothing that is not documented, and nothing that walks over all keys', async (t) => {
  const everything = async () => {
    await get(0, '/cache')
    await get(1, '/cache?details=true')
    await get(0, '/cache/rules', 'DELETE')
    await get(1, '/cache/explain?url=/agents/001')
    await fetch(`${stage.replicas[0]?.url}/agents`, { headers: { authorization: 'Basic bm9ib2R5Ong=' } })
    await get(1, '/cache', 'DELETE')
  }
  const commands = await monitored(stage.redis.port, async () => {
    const { failures, written } = await course(stage, everything, { rate: 100, time: 700, seed: 1, writers: 2 })
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
  'a miss costs what it is designed to, a hit of another replica one look, and every later one nothing',
  async (t) => {
    const agents = Array.from({ length: 20 }, (_, at) => String(2001 + at))
    const count = (commands: readonly Told[], name: string, about: RegExp) =>
      commands.filter(({ words, inside }) => !inside && words[0] === name && words.some((word) => about.test(word)))
        .length
    const costs = (commands: readonly Told[]) => ({
      looks: count(commands, 'evalsha', /^agent:20\d\d$/),
      gets: count(commands, 'get', /^edge:c:/),
      ages: count(commands, 'pttl', /^edge:c:/),
      claims: count(commands, 'set', /^edge:l:/),
      releases: count(commands, 'evalsha', /^edge:l:/),
      entries: count(commands, 'set', /^edge:c:/),
      told: count(commands, 'publish', /^edge:\{e\}:kept$/),
    })
    const each = async (at: number, expected: RegExp) => {
      for (const agent of agents) t.match(await get(at, `/agents/${agent}`), expected)
    }
    const n = agents.length
    const missed = costs(await monitored(stage.redis.port, () => each(0, /; stored/)))
    // Once when it comes, and once when the claim is held: somebody may have kept it meanwhile.
    t.strictSame(missed, { looks: 2 * n, gets: 2 * n, ages: 2 * n, claims: n, releases: n, entries: n, told: n })
    const far = costs(await monitored(stage.redis.port, () => each(1, /; hit/)))
    t.strictSame(far, { looks: n, gets: n, ages: n, claims: 0, releases: 0, entries: 0, told: 0 })
    // Near copies are trusted for two seconds after a sign of life of Redis, which a busy machine may give too late.
    let near = far
    for (let turn = 0; turn < 5 && near.looks > 0; turn += 1) {
      near = costs(await monitored(stage.redis.port, () => Promise.all([each(0, /; hit/), each(1, /; hit/)])))
    }
    t.strictSame(near, { looks: 0, gets: 0, ages: 0, claims: 0, releases: 0, entries: 0, told: 0 })
  },
)
