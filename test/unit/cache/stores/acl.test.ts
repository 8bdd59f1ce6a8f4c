import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t from 'tap'
import { startSimulator } from '../../../../src/simulator/index.ts'
import { startEdge } from '../../../support/edge.ts'
import { startRedis } from '../../../support/redis.ts'

const PASSWORD = 'of-this-test-alone'

/** The lines of docs/cache.md that an operator copies. */
const documented = readFileSync('docs/cache.md', 'utf8')
  .split('\n')
  .filter((line) => /^user \w+ (?:on|off)/.test(line))

/** config/redis.conf as arguments, with the users in another file. */
function settings(aclFile: string): string[] {
  const lines = readFileSync('config/redis.conf', 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [name = '', ...rest] = line.split(' ')
      return [`--${name}`, name === 'aclfile' ? aclFile : rest.join(' ').replaceAll('"', '')]
    })
}

t.test('the edge runs on a Redis with the settings and the users that the documentation gives', async (t) => {
  const folder = t.testdir({ password: `${PASSWORD}\n` })
  const aclFile = join(folder, 'users.acl')
  t.strictSame(
    documented.map((line) => line.split(' ').slice(0, 3).join(' ')),
    ['user edge on', 'user default off'],
  )
  // One more, that looks on.
  const users = [...documented.map((line) => line.replace('CHANGE-ME', PASSWORD)), 'user looker on nopass ~* &* +@all']
  writeFileSync(aclFile, `${users.join('\n')}\n`)
  const redis = await startRedis({ args: settings(aclFile) })
  t.teardown(() => redis.close())
  const client = (username?: string, password = PASSWORD) => {
    const made = new Redis({
      port: redis.port,
      host: '127.0.0.1',
      maxRetriesPerRequest: 0,
      ...(username && { username, password }),
    })
    made.on('error', () => undefined)
    t.teardown(() => made.disconnect())
    return made
  }
  const looker = client('looker')
  t.strictSame(await looker.config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'volatile-lru'])

  const simulator = await startSimulator({ agents: 5, workers: 0, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const cache = {
    redis: { url: redis.url, username: 'edge', passwordFile: join(folder, 'password'), timeout: '1s' },
    durations: { agents: '60s', rules: '60s' },
  }
  const start = async () => {
    const edge = await startEdge({ nodes: simulator.nodes, settings: { cache } })
    t.teardown(() => edge.close())
    return edge
  }
  const [one, other] = [await start(), await start()]
  const ask = async (edge: typeof one, path: string, method = 'GET') => {
    const answer = await fetch(edge.url + path, { method, headers: { authorization: edge.authorization('admin') } })
    await answer.text()
    return `${answer.status} ${answer.headers.get('cache-status') ?? ''}`
  }
  // A new Redis is trusted after two seconds.
  let hit = ''
  for (let turn = 0; turn < 60 && !/; hit/.test(hit); turn++) {
    await ask(one, '/rules?limit=3')
    hit = await ask(other, '/rules?limit=3')
    if (!/; hit/.test(hit)) await sleep(100)
  }
  t.match(hit, /^200 .*; hit/, 'what one replica kept, the other gives')
  t.match(await ask(one, '/agents/001/group/default', 'PUT'), /^200/)
  t.match(await ask(one, '/cache', 'DELETE'), /^200/)
  t.notMatch(await ask(other, '/rules?limit=3'), /; hit/)
  t.strictSame(await looker.call('ACL', 'LOG'), [], 'Redis denied nothing')

  await t.rejects(client().ping(), /NOAUTH/, 'nobody else comes in')
  const edge = client('edge')
  for (const words of [['KEYS', '*'], ['FLUSHALL'], ['CONFIG', 'GET', '*'], ['GET', 'other'], ['ACL', 'LIST']]) {
    const [name = '', ...rest] = words
    await t.rejects(edge.call(name, ...rest), /NOPERM/, `the edge may not ${words.join(' ')}`)
  }
  t.not(((await looker.call('ACL', 'LOG')) as unknown[]).length, 0, 'and what is denied would have been seen')
})
